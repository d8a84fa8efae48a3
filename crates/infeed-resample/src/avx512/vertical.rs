//! The vertical filter: two or four rows, 64 columns at a time.

use std::arch::x86_64::*;

use super::{Sums, weigh_four, weigh_two};
use crate::plan::{Digits, GROUP, Split};

/// Columns done at a time; the caller's rows are readable and writable to a multiple of this.
const STEP: usize = 64;

/// Filters columns `0..columns` of the rows at `rows` (offsets from `ring`), of which the first `most` have a
/// weight.
///
/// # Safety
///
/// The machine has AVX-512 F, BW and VNNI. There are [`GROUP`] rows per entry of `split` and, beyond two taps, of
/// `digits`, and at least one entry. From each row and to `out`, `columns` bytes rounded up to a multiple of 64 are
/// accessible.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) unsafe fn vertical(
    ring: *const u8,
    rows: &[usize],
    (split, digits): (&[Split], &[Digits]),
    most: usize,
    columns: usize,
    out: *mut u8,
) {
    for column in (0..columns).step_by(STEP) {
        let load = |row: usize| {
            // SAFETY: the contract: the row goes on to the end of this step.
            unsafe { _mm512_loadu_si512(ring.add(rows[row] + column).cast()) }
        };
        let values = match most {
            0..=2 => two_rows(load(0), load(1)).map(|taps| weigh_two(taps, &split[0])),
            3..=4 => four_rows([load(0), load(1), load(2), load(3)]).map(|taps| weigh_four(taps, &digits[0])),
            _ => {
                let mut sums = [Sums::new(); 4];
                for (group, digits) in digits.iter().enumerate() {
                    let four = std::array::from_fn(|i| load(group * GROUP + i));
                    for (sums, taps) in sums.iter_mut().zip(four_rows(four)) {
                        sums.add(taps, digits);
                    }
                }
                sums.map(|sums| sums.value())
            }
        };
        // Undoes the order of the unpacking.
        let words = [_mm512_packs_epi32(values[0], values[1]), _mm512_packs_epi32(values[2], values[3])];
        // SAFETY: the contract: the output goes on to the end of this step.
        unsafe { _mm512_storeu_si512(out.add(column).cast(), _mm512_packus_epi16(words[0], words[1])) };
    }
}

/// Both taps of a column side by side, widened to 16 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn two_rows(a: __m512i, b: __m512i) -> [__m512i; 4] {
    let zero = _mm512_setzero_si512();
    let (left, right) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
    [
        _mm512_unpacklo_epi8(left, zero),
        _mm512_unpackhi_epi8(left, zero),
        _mm512_unpacklo_epi8(right, zero),
        _mm512_unpackhi_epi8(right, zero),
    ]
}

/// All four taps of a column side by side.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn four_rows([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (left, right) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
    let (left_too, right_too) = (_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
    [
        _mm512_unpacklo_epi16(left, left_too),
        _mm512_unpackhi_epi16(left, left_too),
        _mm512_unpacklo_epi16(right, right_too),
        _mm512_unpackhi_epi16(right, right_too),
    ]
}
