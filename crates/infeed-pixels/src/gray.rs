//! Luma as in Pillow's `convert("L")`: ITU-R 601 with 16 fractional bits, rounded.

use crate::blend::mix;

/// Pixels handled at a time: few enough to stay in the L1 cache, enough to fill vectors.
const BLOCK: usize = 64;

#[inline(always)]
pub(crate) fn luma(r: u8, g: u8, b: u8) -> u8 {
    ((u32::from(r) * 19_595 + u32::from(g) * 38_470 + u32::from(b) * 7_471 + 0x8000) >> 16) as u8
}

/// Sum of the luma of all pixels.
pub(crate) fn luma_sum(pixels: &[u8], channels: usize) -> u64 {
    if channels != 3 {
        return pixels.chunks_exact(channels).map(|p| u64::from(p[0])).sum();
    }
    // Blocks whose sums fit 32 bits.
    pixels
        .chunks(3 * 4096)
        .map(|block| {
            u64::from(
                block.as_chunks::<3>().0.iter().map(|[r, g, b]| u32::from(luma(*r, *g, *b))).sum::<u32>(),
            )
        })
        .sum()
}

/// Writes the luma of every RGB pixel to a picture of one channel.
pub fn grayscale(pixels: &[u8], out: &mut [u8]) {
    for ([r, g, b], out) in pixels.as_chunks::<3>().0.iter().zip(out) {
        *out = luma(*r, *g, *b);
    }
}

/// Turns RGB pixels gray; they keep three channels.
pub fn gray_in_place(pixels: &mut [u8]) {
    for pixel in pixels.as_chunks_mut::<3>().0 {
        *pixel = [luma(pixel[0], pixel[1], pixel[2]); 3];
    }
}

/// Pillow's `ImageEnhance.Color` on RGB pixels: 0 is gray, 1 the picture itself.
pub fn saturation(pixels: &mut [u8], factor: f64) {
    let factor = factor as f32;
    if factor == 1.0 {
        return;
    }
    let mut gray = [0u8; 3 * BLOCK];
    for block in pixels.chunks_mut(3 * BLOCK) {
        // Gray three times per pixel, so that the blend is one plain loop over bytes.
        for (pixel, gray) in block.as_chunks::<3>().0.iter().zip(gray.as_chunks_mut::<3>().0) {
            *gray = [luma(pixel[0], pixel[1], pixel[2]); 3];
        }
        for (value, gray) in block.iter_mut().zip(&gray) {
            *value = mix(f32::from(*gray), f32::from(*value), factor);
        }
    }
}
