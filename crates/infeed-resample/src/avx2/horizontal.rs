//! The horizontal filter. Two rows share a register, one per half, and both share the coefficients.

use std::arch::x86_64::*;

use crate::kernel::BATCH;
use crate::plan::{GROUP, LOW_BITS, PRECISION, Plan, Split};

/// Filters a batch of rows; see `Level::horizontal`, which has checked the lengths.
///
/// # Safety
///
/// The machine has AVX2. From each of `rows`, `plan.reach` pixels of `channels` bytes and 16 bytes more can
/// be read; to each of `outs`, a pixel per output of the plan and 16 bytes more can be written.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn horizontal(
    plan: &Plan,
    channels: usize,
    rows: [*const u8; BATCH],
    outs: [*mut u8; BATCH],
) {
    // SAFETY: the contracts are the same.
    unsafe {
        match (channels, plan.most) {
            (1, _) => gray(plan, rows, outs),
            (3, 0..=2) => color::<3, 1>(plan, rows, outs),
            (3, 3..=4) => color::<3, 2>(plan, rows, outs),
            (3, _) => color::<3, 0>(plan, rows, outs),
            (_, 0..=2) => color::<4, 1>(plan, rows, outs),
            (_, 3..=4) => color::<4, 2>(plan, rows, outs),
            (..) => color::<4, 0>(plan, rows, outs),
        }
    }
}

/// The shuffle that interleaves two neighbouring pixels, in both halves: for each channel both taps side by side
/// as 16-bit numbers, for the multiply-add.
#[target_feature(enable = "avx2")]
fn pairing<const CHANNELS: usize>(first_tap: usize) -> __m256i {
    let mut mask = [-1i8; 16];
    for channel in 0..CHANNELS {
        for tap in 0..2 {
            mask[channel * 4 + tap * 2] = ((first_tap + tap) * CHANNELS + channel) as i8;
        }
    }
    // SAFETY: the array has the 16 bytes that are read.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(mask.as_ptr().cast()) })
}

/// Three or four channels. `PAIRS` is how many pairs of taps a pixel has, where they fit one group; with zero
/// it has any number of groups.
///
/// # Safety
///
/// As [`horizontal`], with `channels` being `CHANNELS`.
#[target_feature(enable = "avx2")]
unsafe fn color<const CHANNELS: usize, const PAIRS: usize>(
    plan: &Plan,
    rows: [*const u8; BATCH],
    outs: [*mut u8; BATCH],
) {
    let masks = [pairing::<CHANNELS>(0), pairing::<CHANNELS>(2)];
    let compact = if CHANNELS == 3 {
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1))
    } else {
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    };
    let groups = plan.taps / GROUP;
    let count = plan.starts.len();
    for first in (0..count).step_by(4) {
        let mut sums = [[_mm256_setzero_si256(); 2]; 4];
        for (i, sums) in sums.iter_mut().enumerate() {
            // The last four may be fewer; the rest then repeats the last one, into the padding.
            let index = (first + i).min(count - 1);
            // SAFETY: the plan has a start and `groups` splits per output, and `index` is below their number.
            let (start, split) = unsafe {
                (*plan.starts.get_unchecked(index) as usize, plan.split.as_ptr().add(index * groups))
            };
            for (half, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the start and the taps after it lie within the reach of the plan.
                *sum = unsafe {
                    let upper = rows[half * 2].add(start * CHANNELS);
                    let lower = rows[half * 2 + 1].add(start * CHANNELS);
                    pixel::<CHANNELS, PAIRS>(upper, lower, split, groups, masks)
                };
            }
        }
        for half in 0..2 {
            let sums = sums.map(|sums| sums[half]);
            let words = [_mm256_packs_epi32(sums[0], sums[1]), _mm256_packs_epi32(sums[2], sums[3])];
            let bytes = _mm256_packus_epi16(words[0], words[1]);
            let bytes = if CHANNELS == 3 { _mm256_shuffle_epi8(bytes, compact) } else { bytes };
            // SAFETY: `first` is an output of the plan, and the store ends at most 16 bytes after it.
            unsafe {
                let (upper, lower) = (outs[half * 2], outs[half * 2 + 1]);
                _mm_storeu_si128(upper.add(first * CHANNELS).cast(), _mm256_castsi256_si128(bytes));
                _mm_storeu_si128(lower.add(first * CHANNELS).cast(), _mm256_extracti128_si256::<1>(bytes));
            }
        }
    }
}

/// One output pixel of two rows: a channel per 32-bit lane, a row per half.
///
/// # Safety
///
/// `groups * GROUP` pixels and 16 bytes more can be read from `upper` and `lower`, `groups` splits from `split`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pixel<const CHANNELS: usize, const PAIRS: usize>(
    upper: *const u8,
    lower: *const u8,
    split: *const Split,
    groups: usize,
    masks: [__m256i; 2],
) -> __m256i {
    let mut high = _mm256_setzero_si256();
    let mut low = _mm256_set1_epi32(1 << (PRECISION - 1));
    let groups = if PAIRS > 0 { 1 } else { groups };
    for group in 0..groups {
        // SAFETY: the contract, for the bytes of this group; a group of four pixels is at most 16 bytes.
        let (source, split) = unsafe {
            let at = group * GROUP * CHANNELS;
            let upper = _mm_loadu_si128(upper.add(at).cast());
            let lower = _mm_loadu_si128(lower.add(at).cast());
            (_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(upper), lower), &*split.add(group))
        };
        for (pair, &mask) in masks.iter().enumerate().take(if PAIRS > 0 { PAIRS } else { 2 }) {
            let taps = _mm256_shuffle_epi8(source, mask);
            high = _mm256_add_epi32(high, _mm256_madd_epi16(taps, two(&split.high, pair)));
            low = _mm256_add_epi32(low, _mm256_madd_epi16(taps, two(&split.low, pair)));
        }
    }
    let sum = _mm256_add_epi32(_mm256_slli_epi32::<{ LOW_BITS as i32 }>(high), low);
    _mm256_srai_epi32::<{ PRECISION as i32 }>(sum)
}

/// Coefficients `2 * pair` and the one after it, in every lane.
#[inline]
#[target_feature(enable = "avx2")]
fn two(halves: &[i16; GROUP], pair: usize) -> __m256i {
    let [a, b] = [halves[pair * 2], halves[pair * 2 + 1]];
    _mm256_set1_epi32(i32::from(b) << 16 | i32::from(a as u16))
}

/// One channel: a register holds four taps of four rows.
///
/// # Safety
///
/// As [`horizontal`], with one channel.
#[target_feature(enable = "avx2")]
unsafe fn gray(plan: &Plan, rows: [*const u8; BATCH], outs: [*mut u8; BATCH]) {
    let groups = plan.taps / GROUP;
    let count = plan.starts.len();
    let half = _mm256_set1_epi32(1 << (PRECISION - 1));
    for first in (0..count).step_by(4) {
        // Per output pixel and row two sums, of the even and the odd pair of taps.
        let mut sums = [_mm256_setzero_si256(); 4];
        for (i, sum) in sums.iter_mut().enumerate() {
            let index = (first + i).min(count - 1);
            // SAFETY: the plan has a start and `groups` splits per output, and `index` is below their number.
            let (start, split) = unsafe {
                (*plan.starts.get_unchecked(index) as usize, plan.split.as_ptr().add(index * groups))
            };
            let mut high = _mm256_setzero_si256();
            let mut low = _mm256_setzero_si256();
            for group in 0..groups {
                // SAFETY: the start and the taps after it lie within the reach of the plan.
                let (taps, split) = unsafe {
                    let at = start + group * GROUP;
                    let four = rows.map(|row| row.add(at).cast::<i32>().read_unaligned());
                    (_mm_setr_epi32(four[0], four[1], four[2], four[3]), &*split.add(group))
                };
                let taps = _mm256_cvtepu8_epi16(taps);
                high = _mm256_add_epi32(high, _mm256_madd_epi16(taps, four(&split.high)));
                low = _mm256_add_epi32(low, _mm256_madd_epi16(taps, four(&split.low)));
            }
            *sum = _mm256_add_epi32(_mm256_slli_epi32::<{ LOW_BITS as i32 }>(high), low);
        }
        let finish = |a, b| {
            let sum = _mm256_add_epi32(_mm256_hadd_epi32(a, b), half);
            _mm256_srai_epi32::<{ PRECISION as i32 }>(sum)
        };
        // In each half: both rows of pixel 0, of pixel 1, then of 2 and 3.
        let words = _mm256_packs_epi32(finish(sums[0], sums[1]), finish(sums[2], sums[3]));
        let bytes = _mm256_packus_epi16(words, words);
        let order = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 2, 4, 6, 1, 3, 5, 7, -1, -1, -1, -1, -1, -1, -1, -1,
        ));
        let bytes = _mm256_shuffle_epi8(bytes, order);
        let (upper, lower) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
        let fours = [
            _mm_extract_epi32::<0>(upper),
            _mm_extract_epi32::<1>(upper),
            _mm_extract_epi32::<0>(lower),
            _mm_extract_epi32::<1>(lower),
        ];
        for (out, four) in outs.iter().zip(fours) {
            // SAFETY: `first` is an output of the plan, and the store ends at most 4 bytes after it.
            unsafe { out.add(first).cast::<i32>().write_unaligned(four) };
        }
    }
}

/// All coefficients of a group, once per row.
#[inline]
#[target_feature(enable = "avx2")]
fn four(halves: &[i16; GROUP]) -> __m256i {
    let bits = halves.iter().rev().fold(0u64, |bits, &k| bits << 16 | u64::from(k as u16));
    _mm256_set1_epi64x(bits as i64)
}
