//! Undoing the five row filters.
//!
//! A row is read from the inflated stream and written elsewhere: either straight into the caller's buffer
//! or into a row that is converted next. Writing elsewhere is what lets 3-byte pixels be stored four bytes
//! at a time (the next pixel overwrites the fourth), and saves a copy when nothing needs converting.
//!
//! `None` and `Up` have no dependency between neighbours and are left to the vectoriser. `Sub`, `Average`
//! and `Paeth` need the pixel to the left, so their speed is the latency of one pixel.

mod generic;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
mod packed;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
mod sse2;
#[cfg(test)]
mod tests;

use crate::Error;

/// Undoes filter `kind` of one row. All three rows have the same length, a multiple of `bpp`.
///
/// `above` is the previous row, already unfiltered; zeros for the first row.
pub(crate) fn unfilter(kind: u8, bpp: usize, row: &[u8], above: &[u8], into: &mut [u8]) -> Result<(), Error> {
    match (kind, bpp) {
        (0, _) => into.copy_from_slice(row),
        (2, _) => up(row, above, into),
        (1 | 3 | 4, 1) => generic::unfilter::<1>(kind, row, above, into),
        (1 | 3 | 4, 2) => generic::unfilter::<2>(kind, row, above, into),
        (1 | 3 | 4, 3) => fast::unfilter::<3>(kind, row, above, into),
        (1 | 3 | 4, 4) => fast::unfilter::<4>(kind, row, above, into),
        (1 | 3 | 4, 6) => generic::unfilter::<6>(kind, row, above, into),
        (1 | 3 | 4, 8) => generic::unfilter::<8>(kind, row, above, into),
        _ => return Err(Error::corrupt(format!("row filter {kind}; only 0 to 4 exist"))),
    }
    Ok(())
}

fn up(row: &[u8], above: &[u8], into: &mut [u8]) {
    for ((d, s), b) in into.iter_mut().zip(row).zip(above) {
        *d = s.wrapping_add(*b);
    }
}

/// Whether [`unfilter_pair`] takes these two rows.
pub(crate) fn is_pair(kinds: [u8; 2], bpp: usize) -> bool {
    cfg!(all(target_arch = "x86_64", not(infeed_portable))) && kinds == [4, 4] && bpp <= 4
}

/// Undoes two rows at once, which is faster than one after the other. Rows hold at least one pixel.
pub(crate) fn unfilter_pair(bpp: usize, rows: [&[u8]; 2], above: &[u8], into: [&mut [u8]; 2]) {
    match bpp {
        1 => fast::paeth_pair::<1>(rows, above, into),
        2 => fast::paeth_pair::<2>(rows, above, into),
        3 => fast::paeth_pair::<3>(rows, above, into),
        _ => fast::paeth_pair::<4>(rows, above, into),
    }
}

/// The pixel sizes worth their own code, RGB and RGBA of 8 bits.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[allow(unsafe_code)]
mod fast {
    use super::sse2;

    pub(super) fn unfilter<const N: usize>(kind: u8, row: &[u8], above: &[u8], into: &mut [u8]) {
        // SAFETY: all that `sse2` requires is a CPU with SSE2, which is part of x86-64.
        unsafe { sse2::unfilter::<N>(kind, row, above, into) }
    }

    pub(super) fn paeth_pair<const N: usize>(rows: [&[u8]; 2], above: &[u8], into: [&mut [u8]; 2]) {
        // SAFETY: all that `sse2` requires is a CPU with SSE2, which is part of x86-64.
        unsafe { sse2::paeth_pair::<N>(rows, above, into) }
    }
}

/// The same, where there is no such code.
#[cfg(any(infeed_portable, not(target_arch = "x86_64")))]
mod fast {
    use super::generic;
    pub(super) use super::generic::unfilter;

    pub(super) fn paeth_pair<const N: usize>(rows: [&[u8]; 2], above: &[u8], into: [&mut [u8]; 2]) {
        let [upper, lower] = into;
        generic::unfilter::<N>(4, rows[0], above, upper);
        generic::unfilter::<N>(4, rows[1], upper, lower);
    }
}
