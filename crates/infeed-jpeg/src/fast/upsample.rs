//! Chroma rows at full size: libjpeg's "fancy" (triangle) upsampling.
//!
//! Every output sample is three quarters of the nearer and one quarter of the farther input sample, in each
//! direction that is upsampled. At the image edges the missing neighbour is the edge sample itself. Plain
//! loops, compiled twice: the compiler vectorises them well for whatever instructions are allowed.

/// Entries at both ends of a row of intermediate sums for the replicated edge samples.
const EDGE: usize = 1;

/// Rows of intermediate sums, kept between calls.
#[derive(Default)]
pub(super) struct Scratch {
    sums: Vec<u16>,
}

impl Scratch {
    /// A row of sums for `samples` inputs with one more entry at both ends.
    fn row(&mut self, samples: usize) -> &mut [u16] {
        if self.sums.len() < samples + 2 * EDGE {
            self.sums.resize(samples + 2 * EDGE, 0);
        }
        &mut self.sums[..samples + 2 * EDGE]
    }
}

/// Replicates the first and last sum into the entries around the row.
#[inline(always)]
fn replicate(sums: &mut [u16]) {
    let last = sums.len() - 1;
    sums[0] = sums[EDGE];
    sums[last] = sums[last - EDGE];
}

/// Two outputs per input: three parts this sum, one part the one before or after, with alternating rounding.
#[inline(always)]
fn spread<const SHIFT: u32>(sums: &[u16], out: &mut [u8], bias: [u16; 2]) {
    let pairs = out.as_chunks_mut::<2>().0;
    for (window, out) in sums.windows(3).zip(pairs) {
        let near = window[1] * 3;
        let even = (near + window[0] + bias[0]) >> SHIFT;
        let odd = (near + window[2] + bias[1]) >> SHIFT;
        *out = (even | (odd << 8)).to_le_bytes();
    }
}

/// Twice as wide: `out` receives two samples for each of `near`.
#[inline(always)]
fn across(near: &[u8], out: &mut [u8], scratch: &mut Scratch) {
    let sums = scratch.row(near.len());
    for (sum, &near) in sums[EDGE..].iter_mut().zip(near) {
        *sum = u16::from(near);
    }
    replicate(sums);
    spread::<2>(sums, out, [1, 2]);
}

/// Twice as wide and twice as high: one output row between `near` and `far`.
#[inline(always)]
fn both(near: &[u8], far: &[u8], out: &mut [u8], scratch: &mut Scratch) {
    let sums = scratch.row(near.len());
    for ((sum, &near), &far) in sums[EDGE..].iter_mut().zip(near).zip(far) {
        *sum = u16::from(near) * 3 + u16::from(far);
    }
    replicate(sums);
    spread::<4>(sums, out, [8, 7]);
}

/// Twice as high: one output row between `near` and `far`, rounded up in lower rows only.
#[inline(always)]
fn down(near: &[u8], far: &[u8], out: &mut [u8], below: bool) {
    let bias = 1 + u16::from(below);
    for ((out, &near), &far) in out.iter_mut().zip(near).zip(far) {
        *out = ((u16::from(near) * 3 + u16::from(far) + bias) >> 2) as u8;
    }
}

/// The direction in which chroma is smaller than luma.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Across,
    Down,
    Both,
}

/// One row to upsample: the nearer and the farther input row and whether the farther one is below.
#[derive(Clone, Copy)]
pub(super) struct RowPair<'a> {
    pub(super) near: &'a [u8],
    pub(super) far: &'a [u8],
    pub(super) below: bool,
}

#[inline(always)]
fn any(direction: Direction, rows: RowPair<'_>, out: &mut [u8], scratch: &mut Scratch) {
    match direction {
        Direction::Across => across(rows.near, out, scratch),
        Direction::Down => down(rows.near, rows.far, out, rows.below),
        Direction::Both => both(rows.near, rows.far, out, scratch),
    }
}

/// The portable version.
pub(super) fn row(direction: Direction, rows: RowPair<'_>, out: &mut [u8], scratch: &mut Scratch) {
    any(direction, rows, out, scratch);
}

/// The same code with wider registers.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[target_feature(enable = "avx2")]
pub(super) fn row_avx2(direction: Direction, rows: RowPair<'_>, out: &mut [u8], scratch: &mut Scratch) {
    any(direction, rows, out, scratch);
}
