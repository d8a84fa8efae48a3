//! Generates pixels that compress and decode like a photograph.
//!
//! The speed of a decoder depends on the picture: flat colour is too easy, white noise too hard. Photographs have
//! detail at every scale, more at coarser scales, some hard edges and a little grain. So this adds octaves of value
//! noise (random values on a coarse grid, interpolated), a few discs and bands of different brightness, and weak noise
//! per pixel. It only needs additions along rows, no trigonometry, so a picture of 450x450 takes a few milliseconds.

use crate::random::Random;

/// Finest and coarsest grid of the luma noise, as powers of two.
const LUMA: std::ops::Range<u32> = 1..8;
/// The same for chroma, which has less detail in photographs.
const CHROMA: std::ops::Range<u32> = 5..8;
/// Strength of the coarsest octave; each finer one is [`FALL`] times as strong.
const STRENGTH: f32 = 60.0;
const FALL: f32 = 0.72;
/// Strength of the noise per pixel.
const GRAIN: f32 = 10.0;
/// Number of discs and bands.
const SHAPES: usize = 6;

/// Returns RGB pixels in interleaved rows without gaps. The same arguments give the same pixels.
pub fn photo(width: u32, height: u32, seed: u64) -> Vec<u8> {
    let (w, h) = (width as usize, height as usize);
    let mut planes: [Vec<f32>; 3] = std::array::from_fn(|_| vec![0.0; w * h]);
    for (number, plane) in planes.iter_mut().enumerate() {
        let (octaves, weight) = if number == 0 { (LUMA, 1.0) } else { (CHROMA, 0.4) };
        let mut random = Random::new(seed, number as u64);
        let base = if number == 0 { 90.0 + 76.0 * random.unit() } else { 24.0 * random.signed() };
        gradient(plane, w, base, &mut random, weight);
        let mut strength = STRENGTH * weight;
        for power in octaves.rev() {
            octave(plane, w, power, strength, &mut random);
            strength *= FALL;
        }
    }
    shapes(&mut planes, w, h, &mut Random::new(seed, 3));
    let mut random = Random::new(seed, 4);
    planes[0].iter_mut().for_each(|p| *p += GRAIN * random.signed());
    interleave(&planes)
}

/// Fills the plane with a linear gradient.
fn gradient(plane: &mut [f32], width: usize, base: f32, random: &mut Random, weight: f32) {
    let height = plane.len().checked_div(width).unwrap_or(0);
    let (across, down) = (30.0 * weight * random.signed(), 50.0 * weight * random.signed());
    for (y, row) in plane.chunks_exact_mut(width.max(1)).enumerate() {
        let start = base + down * (y as f32 / height as f32 - 0.5);
        let step = across / width as f32;
        row.iter_mut().enumerate().for_each(|(x, p)| *p = start + step * x as f32);
    }
}

/// Adds one octave: random values every `2^power` pixels, interpolated between.
fn octave(plane: &mut [f32], width: usize, power: u32, strength: f32, random: &mut Random) {
    let step = 1usize << power;
    let columns = width.div_ceil(step) + 1;
    // Smoothstep instead of linear: no creases along the grid.
    let ease: Vec<f32> = (0..step)
        .map(|i| {
            let t = i as f32 / step as f32;
            t * t * (3.0 - 2.0 * t)
        })
        .collect();
    let mut line = |out: &mut Vec<f32>| {
        out.clear();
        out.extend((0..columns).map(|_| strength * random.signed()));
    };
    let (mut above, mut below, mut between) = (vec![], vec![], vec![0.0; columns]);
    line(&mut below);
    for (y, row) in plane.chunks_exact_mut(width.max(1)).enumerate() {
        if y % step == 0 {
            std::mem::swap(&mut above, &mut below);
            line(&mut below);
        }
        let down = ease[y % step];
        for (b, (top, bottom)) in between.iter_mut().zip(above.iter().zip(&below)) {
            *b = top + (bottom - top) * down;
        }
        for (cell, ends) in row.chunks_mut(step).zip(between.windows(2)) {
            let (left, rise) = (ends[0], ends[1] - ends[0]);
            cell.iter_mut().zip(&ease).for_each(|(p, t)| *p += left + rise * t);
        }
    }
}

/// Adds discs and slanted bands: in each row both are one range of pixels.
fn shapes(planes: &mut [Vec<f32>; 3], width: usize, height: usize, random: &mut Random) {
    let (w, h) = (width as f32, height as f32);
    for number in 0..SHAPES {
        let (cx, cy) = (w * random.unit(), h * random.unit());
        let size = w.min(h) * (0.05 + 0.2 * random.unit());
        let slant = 2.0 * random.signed();
        let change = [45.0 * random.signed(), 25.0 * random.signed(), 25.0 * random.signed()];
        for y in 0..height {
            let dy = y as f32 - cy;
            let (middle, half) = if number % 2 == 0 {
                (cx, (size * size - dy * dy).max(0.0).sqrt())
            } else {
                (cx + slant * dy, size * 0.3)
            };
            let clip = |x: f32| x.clamp(0.0, w) as usize;
            let stretch = y * width + clip(middle - half)..y * width + clip(middle + half);
            for (plane, change) in planes.iter_mut().zip(change) {
                plane[stretch.clone()].iter_mut().for_each(|p| *p += change);
            }
        }
    }
}

/// Converts luma and two chroma planes to RGB.
fn interleave([luma, blue, red]: &[Vec<f32>; 3]) -> Vec<u8> {
    let mut out = vec![0; luma.len() * 3];
    for (pixel, ((y, cb), cr)) in out.chunks_exact_mut(3).zip(luma.iter().zip(blue).zip(red)) {
        // `as` saturates, so no clamping is needed.
        pixel[0] = (y + 1.402 * cr) as u8;
        pixel[1] = (y - 0.344 * cb - 0.714 * cr) as u8;
        pixel[2] = (y + 1.772 * cb) as u8;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides() {
        assert_eq!(photo(61, 47, 5), photo(61, 47, 5));
        assert_ne!(photo(61, 47, 5), photo(61, 47, 6));
        assert_eq!(photo(61, 47, 5).len(), 61 * 47 * 3);
    }

    #[test]
    fn odd_sizes_work() {
        for (w, h) in [(0, 0), (0, 5), (1, 1), (1, 9), (9, 1), (257, 3)] {
            assert_eq!(photo(w, h, 1).len(), (w * h * 3) as usize);
        }
    }

    #[test]
    fn neighbours_are_alike_but_not_equal() {
        let pixels = photo(256, 256, 3);
        let green: Vec<i32> = pixels.iter().skip(1).step_by(3).map(|p| i32::from(*p)).collect();
        let near = |step: usize| {
            green.windows(step + 1).map(|w| (w[0] - w[step]).abs()).sum::<i32>() as f64 / green.len() as f64
        };
        assert!(near(1) > 1.0, "too smooth: {}", near(1));
        assert!(near(1) * 1.5 < near(40), "no structure: {} {}", near(1), near(40));
    }
}
