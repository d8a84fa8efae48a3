//! Rectangles painted over a finished image, for erasing after normalisation.
//!
//! The image below stays undecoded until it is rendered; then its covers are painted over the finished values, in their
//! dtype and layout. Crops and flips move covers along; a resize cannot.

use crate::{Dtype, Finish, PixelLayout, Rng};
use std::ops::Range;

/// The content of a cover.
#[derive(Debug, Clone)]
pub enum Paint {
    /// One value per channel.
    Flat([f32; 4]),
    /// Normally distributed values of mean 0 and deviation 1, drawn channel by channel and row by row.
    Noise(Rng),
}

/// A painted rectangle, in pixels of the current view.
#[derive(Debug, Clone)]
pub struct Cover {
    /// First column; the part outside the image is not visible.
    pub left: i64,
    /// First row.
    pub top: i64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Its content.
    pub paint: Paint,
    /// Scale and bias per channel: the normalisation applied after it was painted.
    pub(crate) scale: [f32; 4],
    pub(crate) bias: [f32; 4],
    /// Whether it was mirrored since it was painted, per axis.
    flips: (bool, bool),
}

impl Cover {
    /// Creates a cover.
    pub fn new(left: i64, top: i64, width: u32, height: u32, paint: Paint) -> Self {
        Cover { left, top, width, height, paint, scale: [1.0; 4], bias: [0.0; 4], flips: (false, false) }
    }

    /// Moves with the image.
    pub(crate) fn shift(&mut self, x: i64, y: i64) {
        self.left += x;
        self.top += y;
    }

    /// Mirrors with an image of this width.
    pub(crate) fn mirror_x(&mut self, width: u32) {
        self.left = i64::from(width) - self.left - i64::from(self.width);
        self.flips.0 = !self.flips.0;
    }

    /// Mirrors with an image of this height.
    pub(crate) fn mirror_y(&mut self, height: u32) {
        self.top = i64::from(height) - self.top - i64::from(self.height);
        self.flips.1 = !self.flips.1;
    }

    /// Paints over a finished image of `size` (width, height).
    pub(crate) fn paint(&self, size: (u32, u32), channels: u8, finish: &Finish, out: &mut [u8]) {
        let canvas = Canvas { size, channels: usize::from(channels), finish, out };
        match &self.paint {
            Paint::Flat(values) => self.flat(values, canvas),
            Paint::Noise(rng) => self.noise(rng.clone(), canvas),
        }
    }

    fn finished(&self, value: f32, channel: usize) -> f32 {
        value * self.scale[channel] + self.bias[channel]
    }

    fn flat(&self, values: &[f32; 4], canvas: Canvas<'_>) {
        let size = canvas.finish.dtype.size();
        let columns = shown(self.left, self.width, canvas.size.0);
        for (channel, value) in values.iter().enumerate().take(canvas.channels) {
            let bytes = encoded(self.finished(*value, channel), canvas.finish.dtype);
            for y in shown(self.top, self.height, canvas.size.1) {
                let row = canvas.place(channel, columns.start, y) * size;
                match canvas.finish.layout {
                    PixelLayout::Chw => {
                        let row = &mut canvas.out[row..row + columns.len() * size];
                        row.chunks_exact_mut(size).for_each(|to| to.copy_from_slice(&bytes[..size]));
                    }
                    PixelLayout::Hwc => {
                        for to in canvas.out[row..].chunks_mut(size * canvas.channels).take(columns.len()) {
                            to[..size].copy_from_slice(&bytes[..size]);
                        }
                    }
                }
            }
        }
    }

    fn noise(&self, mut rng: Rng, canvas: Canvas<'_>) {
        let size = canvas.finish.dtype.size();
        for channel in 0..canvas.channels {
            for row in 0..self.height {
                let y = place(self.top, self.height, row, self.flips.1);
                for column in 0..self.width {
                    // Drawn for every pixel, even invisible ones: a crop must not change the others.
                    let value = rng.normal() as f32;
                    let x = place(self.left, self.width, column, self.flips.0);
                    let (Some(x), Some(y)) = (within(x, canvas.size.0), within(y, canvas.size.1)) else {
                        continue;
                    };
                    let at = canvas.place(channel, x, y) * size;
                    let bytes = encoded(self.finished(value, channel), canvas.finish.dtype);
                    canvas.out[at..at + size].copy_from_slice(&bytes[..size]);
                }
            }
        }
    }
}

/// The finished image below.
struct Canvas<'a> {
    size: (u32, u32),
    channels: usize,
    finish: &'a Finish,
    out: &'a mut [u8],
}

impl Canvas<'_> {
    /// Returns the element index of a channel of a pixel.
    fn place(&self, channel: usize, x: usize, y: usize) -> usize {
        let (w, h) = (self.size.0 as usize, self.size.1 as usize);
        match self.finish.layout {
            PixelLayout::Hwc => (y * w + x) * self.channels + channel,
            PixelLayout::Chw => (channel * h + y) * w + x,
        }
    }
}

/// Returns the part of `len` pixels from `start` that is within `limit`.
fn shown(start: i64, len: u32, limit: u32) -> Range<usize> {
    let low = start.clamp(0, i64::from(limit));
    let high = (start + i64::from(len)).clamp(low, i64::from(limit));
    low as usize..high as usize
}

fn place(start: i64, len: u32, at: u32, flip: bool) -> i64 {
    start + i64::from(if flip { len - 1 - at } else { at })
}

fn within(at: i64, len: u32) -> Option<usize> {
    usize::try_from(at).ok().filter(|at| *at < len as usize)
}

/// Encodes one value; only the bytes of its dtype are used.
fn encoded(value: f32, dtype: Dtype) -> [u8; 4] {
    let two = |[a, b]: [u8; 2]| [a, b, 0, 0];
    match dtype {
        // As torch converts floats to bytes: truncated, and wrapped if negative.
        Dtype::U8 => [value as i64 as u8, 0, 0, 0],
        Dtype::F16 => two(half::f16::from_f32(value).to_ne_bytes()),
        Dtype::Bf16 => two(half::bf16::from_f32(value).to_ne_bytes()),
        _ => value.to_ne_bytes(),
    }
}
