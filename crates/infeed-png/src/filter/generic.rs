//! `Sub`, `Average` and `Paeth` for any pixel size, one byte lane at a time.

/// Undoes filter 1, 3 or 4 for pixels of `N` bytes.
pub(super) fn unfilter<const N: usize>(kind: u8, row: &[u8], above: &[u8], into: &mut [u8]) {
    match kind {
        1 => rows::<N>(row, above, into, |left, _, _| left),
        3 => rows::<N>(row, above, into, |left, up, _| ((u16::from(left) + u16::from(up)) / 2) as u8),
        _ => rows::<N>(row, above, into, paeth),
    }
}

/// `predict` takes left, up and upper left.
#[inline(always)]
fn rows<const N: usize>(row: &[u8], above: &[u8], into: &mut [u8], predict: impl Fn(u8, u8, u8) -> u8) {
    let (mut left, mut corner) = ([0; N], [0; N]);
    let pixels = row.as_chunks::<N>().0.iter().zip(above.as_chunks::<N>().0);
    for (d, (s, up)) in into.as_chunks_mut::<N>().0.iter_mut().zip(pixels) {
        for i in 0..N {
            left[i] = s[i].wrapping_add(predict(left[i], up[i], corner[i]));
        }
        *d = left;
        corner = *up;
    }
}

/// The specification's choice of the neighbour nearest to `left + up - corner`, without its branches.
#[inline(always)]
pub(super) fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (low, high) = (i16::from(left.min(up)), i16::from(left.max(up)));
    let turn = 3 * i16::from(corner) - i16::from(left) - i16::from(up);
    let inner = if high <= turn { low } else { i16::from(corner) };
    (if turn <= low { high } else { inner }) as u8
}
