//! The vertical filter: pairs of rows, 32 columns at a time.

use std::arch::x86_64::*;

use crate::plan::{GROUP, LOW_BITS, PRECISION, Split};

/// Columns done at a time; the caller's rows are readable and writable to a multiple of this.
pub(crate) const STEP: usize = 32;

/// Filters columns `0..columns` of the rows at `rows` (offsets from `ring`), of which the first `most` have a
/// weight.
///
/// # Safety
///
/// The machine has AVX2. `rows` and `split` cover `most` taps, rounded up to even. From each row and to `out`,
/// `columns` bytes rounded up to a multiple of [`STEP`] are accessible.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn vertical(
    ring: *const u8,
    rows: &[usize],
    split: &[Split],
    most: usize,
    columns: usize,
    out: *mut u8,
) {
    // SAFETY: the contracts are the same.
    unsafe {
        match most {
            0..=2 => filter::<1>(ring, rows, split, 1, columns, out),
            3..=4 => filter::<2>(ring, rows, split, 2, columns, out),
            _ => filter::<0>(ring, rows, split, most.div_ceil(2), columns, out),
        }
    }
}

/// # Safety
///
/// As [`vertical`], for `pairs` pairs of taps; `PAIRS` is that number where it is known, or zero.
#[target_feature(enable = "avx2")]
unsafe fn filter<const PAIRS: usize>(
    ring: *const u8,
    rows: &[usize],
    split: &[Split],
    pairs: usize,
    columns: usize,
    out: *mut u8,
) {
    let pairs = if PAIRS > 0 { PAIRS } else { pairs };
    let zero = _mm256_setzero_si256();
    for column in (0..columns).step_by(STEP) {
        let mut high = [zero; 4];
        let mut low = [_mm256_set1_epi32(1 << (PRECISION - 1)); 4];
        for pair in 0..pairs {
            // SAFETY: the contract: the pair exists, and its rows go on to the end of this step.
            let (a, b, split) = unsafe {
                let a = ring.add(*rows.get_unchecked(pair * 2) + column);
                let b = ring.add(*rows.get_unchecked(pair * 2 + 1) + column);
                let split = split.get_unchecked(pair / (GROUP / 2));
                (_mm256_loadu_si256(a.cast()), _mm256_loadu_si256(b.cast()), split)
            };
            let [first, second] = [pair % 2 * 2, pair % 2 * 2 + 1];
            let weigh = |halves: &[i16; GROUP]| {
                _mm256_set1_epi32(i32::from(halves[second]) << 16 | i32::from(halves[first] as u16))
            };
            let (high_weights, low_weights) = (weigh(&split.high), weigh(&split.low));
            // Both taps of a column side by side, widened; the packing at the end undoes the order.
            let (left, right) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
            let taps = [
                _mm256_unpacklo_epi8(left, zero),
                _mm256_unpackhi_epi8(left, zero),
                _mm256_unpacklo_epi8(right, zero),
                _mm256_unpackhi_epi8(right, zero),
            ];
            for i in 0..4 {
                high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(taps[i], high_weights));
                low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(taps[i], low_weights));
            }
        }
        let mut sums = [zero; 4];
        for i in 0..4 {
            let sum = _mm256_add_epi32(_mm256_slli_epi32::<{ LOW_BITS as i32 }>(high[i]), low[i]);
            sums[i] = _mm256_srai_epi32::<{ PRECISION as i32 }>(sum);
        }
        let bytes =
            _mm256_packus_epi16(_mm256_packs_epi32(sums[0], sums[1]), _mm256_packs_epi32(sums[2], sums[3]));
        // SAFETY: the contract: the output goes on to the end of this step.
        unsafe { _mm256_storeu_si256(out.add(column).cast(), bytes) };
    }
}
