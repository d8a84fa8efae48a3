//! Loops over rows of 3- and 4-byte pixels with each pixel in the four bytes of a `u32`.
//!
//! `next` takes a pixel's filtered bytes and the pixel above it, and returns the pixel. For two rows at once
//! it takes and returns one pixel of each, the lower row being one pixel behind.

/// Four 3-byte pixels: taken together so that every access has a constant offset.
type Four = [u8; 12];

/// Rows of 3-byte pixels.
#[inline(always)]
pub(super) fn rows3(row: &[u8], above: &[u8], into: &mut [u8], mut next: impl FnMut(u32, u32) -> u32) {
    let (fours, row) = row.as_chunks::<12>();
    let (above_fours, above) = above.as_chunks::<12>();
    let (into_fours, into) = into.as_chunks_mut::<12>();
    for ((s, b), d) in fours.iter().zip(above_fours).zip(into_fours) {
        let (s, b) = (split(s), split(b));
        join(d, [next(s[0], b[0]), next(s[1], b[1]), next(s[2], b[2]), next(s[3], b[3])]);
    }
    rows::<3>(row, above, into, next);
}

/// Two rows of 3-byte pixels.
#[inline(always)]
pub(super) fn pairs3(
    rows: [&[u8]; 2],
    above: &[u8],
    into: [&mut [u8]; 2],
    mut next: impl FnMut([u32; 2], u32) -> [u32; 2],
) {
    let [(fours0, row0), (fours1, row1)] = rows.map(|row| row.as_chunks::<12>());
    let (above_fours, above) = above.as_chunks::<12>();
    let [(into_fours0, into0), (into_fours1, into1)] = into.map(|into| into.as_chunks_mut::<12>());
    let sources = fours0.iter().zip(fours1).zip(above_fours);
    for ((d0, d1), ((s0, s1), b)) in into_fours0.iter_mut().zip(into_fours1).zip(sources) {
        let (s0, s1, b) = (split(s0), split(s1), split(b));
        let [p0, q0] = next([s0[0], s1[0]], b[0]);
        let [p1, q1] = next([s0[1], s1[1]], b[1]);
        let [p2, q2] = next([s0[2], s1[2]], b[2]);
        let [p3, q3] = next([s0[3], s1[3]], b[3]);
        join(d0, [p0, p1, p2, p3]);
        join(d1, [q0, q1, q2, q3]);
    }
    pairs::<3>([row0, row1], above, [into0, into1], next);
}

/// The top byte of each pixel is the byte after it, which does not affect the lower lanes.
#[inline(always)]
fn split(p: &Four) -> [u32; 4] {
    let at = |i: usize| u32::from_le_bytes([p[i], p[i + 1], p[i + 2], p[i + 3]]);
    [at(0), at(3), at(6), at(8) >> 8]
}

/// Each store's fourth byte is overwritten by the next; the last stores three.
#[inline(always)]
fn join(d: &mut Four, pixels: [u32; 4]) {
    d[0..4].copy_from_slice(&pixels[0].to_le_bytes());
    d[3..7].copy_from_slice(&pixels[1].to_le_bytes());
    d[6..10].copy_from_slice(&pixels[2].to_le_bytes());
    d[9..12].copy_from_slice(&put::<3>(pixels[3]));
}

/// Rows of pixels of `N` bytes, at most 4.
#[inline(always)]
pub(super) fn rows<const N: usize>(
    row: &[u8],
    above: &[u8],
    into: &mut [u8],
    mut next: impl FnMut(u32, u32) -> u32,
) {
    let pixels = row.as_chunks::<N>().0.iter().zip(above.as_chunks::<N>().0);
    for (d, (s, b)) in into.as_chunks_mut::<N>().0.iter_mut().zip(pixels) {
        *d = put(next(get(s), get(b)));
    }
}

/// Two rows of pixels of `N` bytes, at most 4.
#[inline(always)]
pub(super) fn pairs<const N: usize>(
    [row0, row1]: [&[u8]; 2],
    above: &[u8],
    [into0, into1]: [&mut [u8]; 2],
    mut next: impl FnMut([u32; 2], u32) -> [u32; 2],
) {
    let sources = row0.as_chunks::<N>().0.iter().zip(row1.as_chunks::<N>().0).zip(above.as_chunks::<N>().0);
    let places = into0.as_chunks_mut::<N>().0.iter_mut().zip(into1.as_chunks_mut::<N>().0);
    for ((d0, d1), ((s0, s1), b)) in places.zip(sources) {
        [*d0, *d1] = next([get(s0), get(s1)], get(b)).map(put);
    }
}

#[inline(always)]
fn get<const N: usize>(pixel: &[u8; N]) -> u32 {
    let mut bytes = [0; 4];
    bytes[..N].copy_from_slice(pixel);
    u32::from_le_bytes(bytes)
}

#[inline(always)]
fn put<const N: usize>(pixel: u32) -> [u8; N] {
    let bytes = pixel.to_le_bytes();
    std::array::from_fn(|i| bytes[i])
}
