//! Gaussian blur with torchvision's kernel and mirrored borders.

use crate::{NoMemory, Picture, zeros};

/// Values computed together: they stay in registers while the kernel is applied.
const LANES: usize = 16;

/// Half of a symmetric kernel: the middle weight, then those beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    half: Vec<f32>,
}

impl Gaussian {
    /// The kernel of `size` weights (odd) for a standard deviation of `sigma` pixels, as torchvision makes it.
    pub fn new(size: usize, sigma: f64) -> Self {
        let middle = size / 2;
        let weight = |i: usize| (-0.5 * (i as f64 / sigma).powi(2)).exp();
        let total: f64 = weight(0) + 2.0 * (1..=middle).map(weight).sum::<f64>();
        Gaussian { half: (0..=middle).map(|i| (weight(i) / total) as f32).collect() }
    }

    /// Pixels that the kernel reaches to each side.
    pub fn reach(&self) -> usize {
        self.half.len() - 1
    }
}

/// The index of the pixel at `at` in a row of `len` pixels with reflected borders (the edge pixel is not repeated).
fn mirrored(at: isize, len: usize) -> usize {
    let last = len as isize - 1;
    let at = at.abs();
    (if at > last { 2 * last - at } else { at }).clamp(0, last) as usize
}

/// Bytes that [`blur`] takes for itself: some rows of the picture as floats.
pub fn blur_memory(stride: usize, y: &Gaussian) -> u64 {
    (2 * y.reach() as u64 + 2).saturating_mul(stride as u64).saturating_mul(4)
}

/// Blurs along both axes. `out` is as long as the picture, and the reach of each kernel is less than the picture's size.
pub fn blur(picture: &Picture<'_>, x: &Gaussian, y: &Gaussian, out: &mut [u8]) -> Result<(), NoMemory> {
    let (width, height, c) = (picture.width, picture.height, picture.channels);
    let (reach_x, reach_y) = (x.reach(), y.reach());
    let stride = picture.stride();
    // Whole blocks of lanes may be read and written beyond the end of a row.
    let padded = stride.next_multiple_of(LANES);
    let mut source = zeros(padded + 2 * reach_x * c)?;
    let rows = 2 * reach_y + 1;
    let mut ring = zeros(rows * padded)?;
    let mut done = 0;
    for (at, out) in out.chunks_exact_mut(stride).enumerate() {
        // Row r is in slot r % rows; a row needs only rows within `reach_y` of it.
        while done < height.min(at + reach_y + 1) {
            widen(picture.row(done), width, c, reach_x, &mut source);
            let place = done % rows * padded;
            across(&source, &x.half, c, &mut ring[place..place + padded]);
            done += 1;
        }
        down(&ring, padded, rows, at, height, &y.half, out);
    }
    Ok(())
}

/// A row as floats with its mirrored borders.
fn widen(row: &[u8], width: usize, c: usize, reach: usize, source: &mut [f32]) {
    for (to, from) in source[reach * c..].iter_mut().zip(row) {
        *to = f32::from(*from);
    }
    for i in 0..reach {
        let left = mirrored(i as isize - reach as isize, width) * c;
        let right = mirrored((width + i) as isize, width) * c;
        for k in 0..c {
            source[i * c + k] = f32::from(row[left + k]);
            source[(reach + width + i) * c + k] = f32::from(row[right + k]);
        }
    }
}

/// One row through the horizontal kernel.
fn across(source: &[f32], half: &[f32], c: usize, out: &mut [f32]) {
    let reach = half.len() - 1;
    for (block, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let middle = block * LANES + reach * c;
        let mut sum = lanes(source, middle).map(|v| v * half[0]);
        for (i, weight) in half.iter().enumerate().skip(1) {
            let (left, right) = (lanes(source, middle - i * c), lanes(source, middle + i * c));
            for k in 0..LANES {
                sum[k] += (left[k] + right[k]) * weight;
            }
        }
        *out = sum;
    }
}

/// One row of the result from the rows in the ring.
fn down(ring: &[f32], padded: usize, rows: usize, at: usize, height: usize, half: &[f32], out: &mut [u8]) {
    let row = |i: isize| mirrored(at as isize + i, height) % rows * padded;
    let places: Vec<(usize, usize)> = (0..half.len() as isize).map(|i| (row(-i), row(i))).collect();
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let start = block * LANES;
        let mut sum = lanes(ring, places[0].0 + start).map(|v| v * half[0]);
        for ((above, below), weight) in places.iter().zip(half).skip(1) {
            let (above, below) = (lanes(ring, above + start), lanes(ring, below + start));
            for k in 0..LANES {
                sum[k] += (above[k] + below[k]) * weight;
            }
        }
        // Adding 2^23 leaves the number rounded to even in the lowest bits, which is torch's rounding.
        let rounded = sum.map(|v| (v + 8_388_608.0).to_bits() as u8);
        out.copy_from_slice(&rounded[..out.len()]);
    }
}

#[inline(always)]
fn lanes(values: &[f32], at: usize) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    out.copy_from_slice(&values[at..at + LANES]);
    out
}
