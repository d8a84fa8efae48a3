//! Interpolation and extrapolation between two pictures: `low + factor * (high - low)`.

use crate::{gray::luma_sum, wide::widened};

/// 2^23: adding it to a smaller float leaves the rounded integer in the lowest bits.
const WHOLE: f32 = 8_388_608.0;

/// One value as in Pillow's `Image.blend`: 32-bit floats, two roundings, truncated and clipped.
///
/// A plain `as u8` gives the same, but costs twice as much: the compiler does not know that the number is in range.
#[inline(always)]
pub(crate) fn mix(low: f32, high: f32, factor: f32) -> u8 {
    let value = low + factor * (high - low);
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < 255.0 { value } else { 255.0 };
    let rounded = value + WHOLE;
    let above = u32::from(rounded - WHOLE > value);
    (rounded.to_bits() - above) as u8
}

widened! {
    /// Blends every value with the same `low`. Computing is faster than looking up where vectors are wide.
    fn from_flat(pixels: &mut [u8], low: u8, factor: f64) {
        let (low, factor) = (f32::from(low), factor as f32);
        for value in pixels {
            *value = mix(low, f32::from(*value), factor);
        }
    }
}

/// Pillow's `ImageEnhance.Brightness`: 0 is black, 1 the picture itself.
pub fn brightness(pixels: &mut [u8], factor: f64) {
    if factor as f32 != 1.0 {
        from_flat(pixels, 0, factor);
    }
}

/// Pillow's `ImageEnhance.Contrast`: 0 is flat gray of the mean luma, 1 the picture itself.
pub fn contrast(pixels: &mut [u8], channels: usize, factor: f64) {
    if factor as f32 == 1.0 || pixels.len() < channels {
        return;
    }
    let count = (pixels.len() / channels) as f64;
    let mean = (luma_sum(pixels, channels) as f64 / count + 0.5) as u8;
    from_flat(pixels, mean, factor);
}
