//! The horizontal filter: a register holds the same pixels of four rows, one per quarter.

use std::arch::x86_64::*;

use super::{Sums, weigh_four, weigh_two};
use crate::kernel::BATCH;
use crate::plan::{GROUP, Plan};

/// Filters a batch of rows of three or four channels; see `Level::horizontal`, which has checked the lengths.
///
/// # Safety
///
/// The machine has AVX-512 F, BW and VNNI. From each of `rows`, `plan.reach` pixels of `channels` bytes and
/// 16 bytes more can be read; to each of `outs`, a pixel per output of the plan and 16 bytes more can be
/// written.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(crate) unsafe fn horizontal(
    plan: &Plan,
    channels: usize,
    rows: [*const u8; BATCH],
    outs: [*mut u8; BATCH],
) {
    // SAFETY: the contracts are the same.
    unsafe {
        match (channels, plan.most) {
            (3, 0..=2) => color::<3, 2>(plan, rows, outs),
            (3, 3..=4) => color::<3, 4>(plan, rows, outs),
            (3, _) => color::<3, 0>(plan, rows, outs),
            (_, 0..=2) => color::<4, 2>(plan, rows, outs),
            (_, 3..=4) => color::<4, 4>(plan, rows, outs),
            (..) => color::<4, 0>(plan, rows, outs),
        }
    }
}

/// `TAPS` is how many taps a pixel has where they fit one group; with zero it has any number of groups.
///
/// # Safety
///
/// As [`horizontal`], with `channels` being `CHANNELS`.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn color<const CHANNELS: usize, const TAPS: usize>(
    plan: &Plan,
    rows: [*const u8; BATCH],
    outs: [*mut u8; BATCH],
) {
    // The taps of a channel side by side: four of one byte, or two widened to two bytes.
    let mut gather = [-1i8; 16];
    for channel in 0..CHANNELS {
        let (taps, spacing) = if TAPS == 2 { (2, 2) } else { (4, 1) };
        for tap in 0..taps {
            gather[channel * 4 + tap * spacing] = (tap * CHANNELS + channel) as i8;
        }
    }
    let mut compact = [-1i8; 16];
    for (at, byte) in compact[..4 * CHANNELS].iter_mut().enumerate() {
        *byte = (at / CHANNELS * 4 + at % CHANNELS) as i8;
    }
    // SAFETY: the arrays have the 16 bytes that are read.
    let [gather, compact] = [gather, compact]
        .map(|mask| _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(mask.as_ptr().cast()) }));
    let groups = plan.taps / GROUP;
    let count = plan.starts.len();
    for first in (0..count).step_by(4) {
        let mut sums = [_mm512_setzero_si512(); 4];
        for (i, sum) in sums.iter_mut().enumerate() {
            // The last four may be fewer; the rest then repeats the last one, into the padding.
            let index = (first + i).min(count - 1);
            // SAFETY: the plan has a start per output, and `index` is below their number.
            let start = unsafe { *plan.starts.get_unchecked(index) } as usize;
            let taps = |group: usize| {
                let at = (start + group * GROUP) * CHANNELS;
                // SAFETY: the taps lie within the reach of the plan, and four pixels are at most 16 bytes.
                let four = unsafe { rows.map(|row| _mm_loadu_si128(row.add(at).cast())) };
                let all = _mm512_castsi128_si512(four[0]);
                let all = _mm512_inserti32x4::<1>(all, four[1]);
                let all = _mm512_inserti32x4::<2>(all, four[2]);
                _mm512_shuffle_epi8(_mm512_inserti32x4::<3>(all, four[3]), gather)
            };
            // SAFETY: the plan has `groups` entries of either kind per output.
            *sum = unsafe {
                match TAPS {
                    2 => weigh_two(taps(0), plan.split.get_unchecked(index * groups)),
                    4 => weigh_four(taps(0), plan.digits.get_unchecked(index * groups)),
                    _ => {
                        let mut sums = Sums::new();
                        for group in 0..groups {
                            sums.add(taps(group), plan.digits.get_unchecked(index * groups + group));
                        }
                        sums.value()
                    }
                }
            };
        }
        let words = [_mm512_packs_epi32(sums[0], sums[1]), _mm512_packs_epi32(sums[2], sums[3])];
        let bytes = _mm512_packus_epi16(words[0], words[1]);
        let bytes = if CHANNELS == 3 { _mm512_shuffle_epi8(bytes, compact) } else { bytes };
        let quarters = [
            _mm512_castsi512_si128(bytes),
            _mm512_extracti32x4_epi32::<1>(bytes),
            _mm512_extracti32x4_epi32::<2>(bytes),
            _mm512_extracti32x4_epi32::<3>(bytes),
        ];
        for (out, quarter) in outs.iter().zip(quarters) {
            // SAFETY: `first` is an output of the plan, and the store ends at most 16 bytes after it.
            unsafe { _mm_storeu_si128(out.add(first * CHANNELS).cast(), quarter) };
        }
    }
}
