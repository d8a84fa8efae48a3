//! Stores a finished row: eight pixels at a time, to planes or interleaved.

use std::arch::x86_64::*;

use super::store::{self, Store};
use crate::kernel::Finish;
use crate::{Dtype, Layout, scalar};

/// Pixels done at a time.
const STEP: usize = 8;

/// Stores one row; see `Level::finish`, which has checked the lengths.
///
/// # Safety
///
/// The machine has AVX2 and F16C. `row` and `spare` hold the row and 32 bytes more; element `base` of `out`
/// and all elements the row goes to are within `out`.
#[target_feature(enable = "avx2,f16c")]
pub(crate) unsafe fn finish(finish: &Finish, row: &[u8], spare: &mut [u8], out: &mut [u8], base: usize) {
    // Too narrow for even one step; or possibly NaN, which rounding by integers does not handle. With a finite scale
    // and bias no byte becomes NaN.
    let finite = finish.scale.iter().chain(&finish.bias).all(|value| value.is_finite());
    if finish.width < STEP || finish.dtype == Dtype::Bf16 && !finite {
        return scalar::finish(finish, row, out, base);
    }
    // SAFETY: the contracts are the same.
    unsafe {
        match (finish.dtype, finish.identity) {
            (Dtype::U8, true) => stored::<store::Byte>(finish, row, spare, out, base),
            (Dtype::U8, false) => stored::<store::RoundedByte>(finish, row, spare, out, base),
            (Dtype::F32, _) => stored::<store::Single>(finish, row, spare, out, base),
            (Dtype::F16, _) => stored::<store::Half>(finish, row, spare, out, base),
            (Dtype::Bf16, _) => stored::<store::Brain>(finish, row, spare, out, base),
        }
    }
}

/// # Safety
///
/// As [`finish`], for a row of at least [`STEP`] pixels.
#[target_feature(enable = "avx2,f16c")]
unsafe fn stored<S: Store>(finish: &Finish, row: &[u8], spare: &mut [u8], out: &mut [u8], base: usize) {
    // SAFETY: the first element of the row is within the output.
    let place = unsafe { out.as_mut_ptr().add(base * S::SIZE) };
    // SAFETY: the contract, and the number of channels is the one given.
    unsafe {
        match (finish.layout, finish.channels) {
            (Layout::Chw, 1) => planes::<S, 1>(finish, row.as_ptr(), place),
            (Layout::Chw, 3) => planes::<S, 3>(finish, row.as_ptr(), place),
            (Layout::Chw, _) => planes::<S, 4>(finish, row.as_ptr(), place),
            (Layout::Hwc, channels) => {
                let mut source = row.as_ptr();
                if finish.flip_h {
                    match channels {
                        1 => reverse::<1>(finish.width, source, spare.as_mut_ptr()),
                        3 => reverse::<3>(finish.width, source, spare.as_mut_ptr()),
                        _ => reverse::<4>(finish.width, source, spare.as_mut_ptr()),
                    }
                    source = spare.as_ptr();
                }
                if S::PLAIN {
                    place.copy_from_nonoverlapping(source, finish.width * channels);
                    return;
                }
                match channels {
                    1 => interleaved::<S, 1>(finish, source, place),
                    3 => interleaved::<S, 3>(finish, source, place),
                    _ => interleaved::<S, 4>(finish, source, place),
                }
            }
        }
    }
}

/// To planes. A flip costs nothing: the halves of the load are swapped and the shuffles are reversed.
///
/// # Safety
///
/// The machine has AVX2 and F16C. `finish.width` pixels of `CHANNELS` bytes, at least [`STEP`], and 16 bytes
/// more can be read from `row`; every plane of the row, counted from `place`, can be written.
#[target_feature(enable = "avx2,f16c")]
unsafe fn planes<S: Store, const CHANNELS: usize>(finish: &Finish, row: *const u8, place: *mut u8) {
    let width = finish.width;
    let mut masks = [_mm256_setzero_si256(); CHANNELS];
    for (channel, mask) in masks.iter_mut().enumerate() {
        let mut bytes = [-1i8; 16];
        for pixel in 0..4 {
            let lane = if finish.flip_h { 3 - pixel } else { pixel };
            bytes[lane * 4] = (pixel * CHANNELS + channel) as i8;
        }
        // SAFETY: the array has the 16 bytes that are read.
        *mask = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) });
    }
    let scale: [__m256; CHANNELS] = std::array::from_fn(|channel| _mm256_set1_ps(finish.scale[channel]));
    let bias: [__m256; CHANNELS] = std::array::from_fn(|channel| _mm256_set1_ps(finish.bias[channel]));
    let (low, high) = if finish.flip_h { (4, 0) } else { (0, 4) };
    let mut x = 0;
    loop {
        // SAFETY: `x + STEP` is at most the width, so both loads begin within the row and end at most 16
        // bytes after it.
        let bytes = unsafe {
            let low = _mm_loadu_si128(row.add((x + low) * CHANNELS).cast());
            let high = _mm_loadu_si128(row.add((x + high) * CHANNELS).cast());
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        };
        let to = if finish.flip_h { width - STEP - x } else { x };
        for channel in 0..CHANNELS {
            let values = _mm256_shuffle_epi8(bytes, masks[channel]);
            // SAFETY: columns `to..to + STEP` of the plane are within the row.
            unsafe {
                let place = place.add((channel * finish.plane_stride + to) * S::SIZE);
                S::store(place, values, scale[channel], bias[channel]);
            }
        }
        if x + STEP >= width {
            break;
        }
        // The last step goes back over pixels already stored instead of beyond the row.
        x = (x + STEP).min(width - STEP);
    }
}

/// Interleaved: the values keep their order, only the scale cycles with the channels.
///
/// # Safety
///
/// The machine has AVX2 and F16C. `finish.width` pixels of `CHANNELS` bytes, at least [`STEP`], can be read
/// from `row` and as many values written to `place`.
#[target_feature(enable = "avx2,f16c")]
unsafe fn interleaved<S: Store, const CHANNELS: usize>(finish: &Finish, row: *const u8, place: *mut u8) {
    let around = |values: &[f32; 4], part: usize| {
        let lanes: [f32; 8] = std::array::from_fn(|lane| values[(part * 8 + lane) % CHANNELS]);
        // SAFETY: the array has the 32 bytes that are read.
        unsafe { _mm256_loadu_ps(lanes.as_ptr()) }
    };
    let scale: [__m256; CHANNELS] = std::array::from_fn(|part| around(&finish.scale, part));
    let bias: [__m256; CHANNELS] = std::array::from_fn(|part| around(&finish.bias, part));
    let mut x = 0;
    loop {
        for part in 0..CHANNELS {
            let at = x * CHANNELS + part * 8;
            // SAFETY: the eight pixels from `x` on are within the row, and these are eight of their values.
            unsafe {
                let values = _mm256_cvtepu8_epi32(_mm_loadl_epi64(row.add(at).cast()));
                S::store(place.add(at * S::SIZE), values, scale[part], bias[part]);
            }
        }
        if x + STEP >= finish.width {
            break;
        }
        x = (x + STEP).min(finish.width - STEP);
    }
}

/// The pixels of a row in reverse order.
///
/// # Safety
///
/// The machine has AVX2. `width` pixels of `CHANNELS` bytes and 16 bytes more can be read from `row` and
/// written to `out`.
#[target_feature(enable = "avx2")]
unsafe fn reverse<const CHANNELS: usize>(width: usize, row: *const u8, out: *mut u8) {
    let mut bytes = [-1i8; 16];
    for (at, byte) in bytes[..4 * CHANNELS].iter_mut().enumerate() {
        *byte = ((3 - at / CHANNELS) * CHANNELS + at % CHANNELS) as i8;
    }
    // SAFETY: the array has the 16 bytes that are read.
    let mask = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    // From the start of the output to its end, because a store also overwrites bytes after its four pixels.
    for x in 0..width % 4 {
        // SAFETY: both are pixels of the row.
        unsafe {
            let from = row.add((width - 1 - x) * CHANNELS);
            out.add(x * CHANNELS).copy_from_nonoverlapping(from, CHANNELS);
        }
    }
    for x in (width % 4..width).step_by(4) {
        // SAFETY: `x..x + 4` are pixels of the row, and so are their counterparts; 16 bytes reach at most 16
        // bytes beyond.
        unsafe {
            let four = _mm_loadu_si128(row.add((width - 4 - x) * CHANNELS).cast());
            _mm_storeu_si128(out.add(x * CHANNELS).cast(), _mm_shuffle_epi8(four, mask));
        }
    }
}
