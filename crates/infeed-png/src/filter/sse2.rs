//! `Sub`, `Average` and `Paeth` of 3- and 4-byte pixels, one pixel per step in an SSE2 register.
//!
//! The critical path is from one pixel's result to the next, so everything that does not depend on the left
//! neighbour is kept off it.

use super::packed::{pairs, pairs3, rows, rows3};
use std::arch::x86_64::*;

/// Undoes filter 1, 3 or 4 for pixels of `N` = 3 or 4 bytes.
#[target_feature(enable = "sse2")]
pub(super) fn unfilter<const N: usize>(kind: u8, row: &[u8], above: &[u8], into: &mut [u8]) {
    match kind {
        1 => sub::<N>(row, above, into),
        3 => average::<N>(row, above, into),
        _ => paeth::<N>(row, above, into),
    }
}

/// Four 3-byte pixels at a time are worth a separate loop.
#[inline(always)]
fn walk<const N: usize>(row: &[u8], above: &[u8], into: &mut [u8], next: impl FnMut(u32, u32) -> u32) {
    if N == 3 { rows3(row, above, into, next) } else { rows::<N>(row, above, into, next) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(pixel: u32) -> __m128i {
    _mm_cvtsi32_si128(pixel.cast_signed())
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(lanes: __m128i) -> u32 {
    _mm_cvtsi128_si32(lanes).cast_unsigned()
}

#[target_feature(enable = "sse2")]
fn sub<const N: usize>(row: &[u8], above: &[u8], into: &mut [u8]) {
    let mut left = _mm_setzero_si128();
    walk::<N>(row, above, into, |filtered, _| {
        left = _mm_add_epi8(left, load(filtered));
        store(left)
    });
}

/// `pavgb` rounds up where the filter rounds down. On complements it rounds down, and as
/// `!(x + !p) == p - x` the complement also carries to the next pixel: two instructions of latency.
#[target_feature(enable = "sse2")]
fn average<const N: usize>(row: &[u8], above: &[u8], into: &mut [u8]) {
    let mut not_left = _mm_set1_epi8(-1);
    walk::<N>(row, above, into, |filtered, up| {
        let not_mean = _mm_avg_epu8(not_left, load(!up));
        not_left = _mm_sub_epi8(not_mean, load(filtered));
        !store(not_left)
    });
}

#[target_feature(enable = "sse2")]
fn paeth<const N: usize>(row: &[u8], above: &[u8], into: &mut [u8]) {
    let zero = _mm_setzero_si128();
    let (mut left, mut corner) = (zero, zero);
    walk::<N>(row, above, into, |filtered, up| {
        let up = _mm_unpacklo_epi8(load(up), zero);
        left = paeth_step(_mm_unpacklo_epi8(load(filtered), zero), up, left, corner);
        corner = up;
        store(_mm_packus_epi16(left, left))
    });
}

/// Two rows of `Paeth` in the two halves of a register, the lower row one pixel behind: what it needs from
/// above is then what the upper row has just produced. Two pixels for the latency of little more than one.
#[target_feature(enable = "sse2")]
pub(super) fn paeth_pair<const N: usize>([row0, row1]: [&[u8]; 2], above: &[u8], into: [&mut [u8]; 2]) {
    let zero = _mm_setzero_si128();
    let (mut left, mut corner) = (zero, zero);
    let mut next = |[filtered0, filtered1]: [u32; 2], up: u32| {
        let filtered = _mm_unpacklo_epi32(load(filtered0), load(filtered1));
        let up = _mm_unpacklo_epi64(_mm_unpacklo_epi8(load(up), zero), left);
        left = paeth_step(_mm_unpacklo_epi8(filtered, zero), left, up, corner);
        corner = up;
        let both = _mm_packus_epi16(left, left);
        [store(both), store(_mm_srli_epi64::<32>(both))]
    };
    let [into0, into1] = into;
    let (row0_first, row0) = row0.split_at(N);
    let (row1, row1_last) = row1.split_at(row1.len() - N);
    let (above_first, above) = above.split_at(N);
    let (into0_first, into0) = into0.split_at_mut(N);
    let (into1, into1_last) = into1.split_at_mut(row1.len());
    // Before the lower row begins, zeros keep its half at its initial state.
    let [first, _] = next([pixel(row0_first), 0], pixel(above_first));
    into0_first.copy_from_slice(&first.to_le_bytes()[..N]);
    if N == 3 {
        pairs3([row0, row1], above, [into0, into1], &mut next);
    } else {
        pairs::<N>([row0, row1], above, [into0, into1], &mut next);
    }
    let [_, last] = next([0, pixel(row1_last)], 0);
    into1_last.copy_from_slice(&last.to_le_bytes()[..N]);
}

/// Up to four bytes as one pixel.
fn pixel(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |pixel, byte| pixel << 8 | u32::from(*byte))
}

/// The next pixel, from its neighbours to the left and above in either order. Lanes are 16 bits wide because `turn` (see
/// `generic::paeth`) does not fit a byte.
#[inline]
#[target_feature(enable = "sse2")]
fn paeth_step(filtered: __m128i, early: __m128i, late: __m128i, corner: __m128i) -> __m128i {
    let thrice = _mm_add_epi16(_mm_add_epi16(corner, corner), corner);
    let with_corner = _mm_add_epi8(corner, filtered);
    // Nothing here saturates, but the compiler leaves the order of saturating arithmetic alone: `late`, the
    // neighbour that is known last, is to take part in one subtraction only.
    let turn = _mm_subs_epi16(_mm_subs_epi16(thrice, early), late);
    let low = _mm_min_epi16(early, late);
    let high = _mm_max_epi16(early, late);
    let not_low = _mm_cmpgt_epi16(high, turn);
    let not_high = _mm_cmpgt_epi16(turn, low);
    // The filtered bytes are added to all three candidates before one is chosen, off the critical path. The
    // choice is an OR of masked candidates: where two masks hold, the candidates are equal.
    let from_low = _mm_andnot_si128(not_low, _mm_add_epi8(low, filtered));
    let from_high = _mm_andnot_si128(not_high, _mm_add_epi8(high, filtered));
    let from_corner = _mm_and_si128(_mm_and_si128(not_low, not_high), with_corner);
    _mm_or_si128(_mm_or_si128(from_low, from_high), from_corner)
}
