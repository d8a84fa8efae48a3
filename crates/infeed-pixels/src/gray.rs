//! Luma as in Pillow's `convert("L")`: ITU-R 601 with 16 fractional bits, rounded.

use crate::{
    blend::mix,
    wide::{Change, Plane, change_planes, widened},
};

#[inline(always)]
pub(crate) fn luma(r: u8, g: u8, b: u8) -> u8 {
    ((u32::from(r) * 19_595 + u32::from(g) * 38_470 + u32::from(b) * 7_471 + 0x8000) >> 16) as u8
}

/// Sum of the luma of all pixels.
pub(crate) fn luma_sum(pixels: &[u8], channels: usize) -> u64 {
    if channels == 3 {
        luma_sum_of_colours(pixels)
    } else {
        pixels.chunks_exact(channels).map(|p| u64::from(p[0])).sum()
    }
}

widened! {
    fn luma_sum_of_colours(pixels: &[u8]) -> u64 {
        let mut sum = 0;
        // Blocks whose sums fit 32 bits.
        for block in pixels.chunks(3 * 4096) {
            let lumas = block.as_chunks::<3>().0.iter().map(|[r, g, b]| u32::from(luma(*r, *g, *b)));
            sum += u64::from(lumas.sum::<u32>());
        }
        sum
    }
}

widened! {
    /// Writes the luma of every RGB pixel to a picture of one channel.
    pub fn grayscale(pixels: &[u8], out: &mut [u8]) {
        for ([r, g, b], out) in pixels.as_chunks::<3>().0.iter().zip(out) {
            *out = luma(*r, *g, *b);
        }
    }
}

widened! {
    /// Turns RGB pixels gray; they keep three channels.
    pub fn gray_in_place(pixels: &mut [u8]) {
        change_planes(pixels, &Gray);
    }
}

struct Gray;

impl Change for Gray {
    #[inline(always)]
    fn change(&self, [reds, greens, blues]: &mut [Plane; 3]) {
        for ((r, g), b) in reds.iter_mut().zip(greens).zip(blues) {
            [*r, *g, *b] = [luma(*r, *g, *b); 3];
        }
    }
}

/// Pillow's `ImageEnhance.Color` on RGB pixels: 0 is gray, 1 the picture itself.
pub fn saturation(pixels: &mut [u8], factor: f64) {
    if factor as f32 != 1.0 {
        away_from_gray(pixels, factor as f32);
    }
}

widened! {
    fn away_from_gray(pixels: &mut [u8], factor: f32) {
        change_planes(pixels, &AwayFromGray { factor });
    }
}

struct AwayFromGray {
    factor: f32,
}

impl Change for AwayFromGray {
    #[inline(always)]
    fn change(&self, [reds, greens, blues]: &mut [Plane; 3]) {
        for ((r, g), b) in reds.iter_mut().zip(greens).zip(blues) {
            let gray = f32::from(luma(*r, *g, *b));
            [*r, *g, *b] = [*r, *g, *b].map(|v| mix(gray, f32::from(v), self.factor));
        }
    }
}
