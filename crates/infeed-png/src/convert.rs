//! From unfiltered rows, as the file packs them, to the requested pixels.
//!
//! Two steps, each skipped if it has nothing to do: *widen* converts samples of 1, 2, 4 and 16 bits to
//! 8 bits, then *recolor* changes the channels.

mod recolor;
mod widen;

use crate::header::{Color, Header, Output, Preamble};
use crate::stored_format;
use recolor::Lookup;

/// How rows of one image become output rows; decided once per image.
pub(crate) struct Plan {
    depth: u8,
    color: Color,
    target: Target,
    /// Bytes per output pixel.
    pub(crate) pixel: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Gray,
    GrayAlpha,
    Rgb,
    Rgba,
    /// The file's own 16-bit channels, in this machine's byte order.
    Native16,
    /// Samples as they are stored, one byte each.
    Index,
}

/// Tables and buffers that outlive one image, so that small images allocate nothing.
#[derive(Default)]
pub(crate) struct Scratch {
    wide: Vec<u8>,
    lookup: Lookup,
}

impl Plan {
    pub(crate) fn new(preamble: &Preamble<'_>, output: Output, scratch: &mut Scratch) -> Self {
        let header = &preamble.header;
        let (channels, bytes) = stored_format(header);
        let target = match (output, bytes, channels) {
            (Output::Gray, ..) => Target::Gray,
            (Output::Rgb, ..) => Target::Rgb,
            (Output::Rgba, ..) => Target::Rgba,
            (Output::Index, ..) => Target::Index,
            (Output::AsStored, 2, _) => Target::Native16,
            (Output::AsStored, _, 1) => Target::Gray,
            (Output::AsStored, _, 2) => Target::GrayAlpha,
            (Output::AsStored, _, 3) => Target::Rgb,
            (Output::AsStored, ..) => Target::Rgba,
        };
        let pixel = match target {
            Target::Gray | Target::Index => 1,
            Target::GrayAlpha => 2,
            Target::Rgb => 3,
            Target::Rgba => 4,
            Target::Native16 => 2 * channels,
        };
        scratch.lookup.prepare(preamble, output);
        Self { depth: header.bit_depth, color: header.color, target, pixel }
    }

    /// Whether the rows already are the output, so that unfiltering can write them in place.
    pub(crate) fn is_identity(&self) -> bool {
        matches!(
            (self.depth, self.color, self.target),
            (8, Color::Gray, Target::Gray)
                | (8, Color::Gray | Color::Palette { .. }, Target::Index)
                | (8, Color::GrayAlpha, Target::GrayAlpha)
                | (8, Color::Rgb, Target::Rgb)
                | (8, Color::Rgba, Target::Rgba)
        )
    }

    /// Converts one row to `into`, which holds a whole number of output pixels.
    pub(crate) fn convert(&self, row: &[u8], scratch: &mut Scratch, into: &mut [u8]) {
        if self.target == Target::Native16 {
            return widen::swap16(row, into);
        }
        if self.depth == 8 {
            return self.recolor(row, &scratch.lookup, into);
        }
        if self.depth == 16 && self.color == Color::Gray && self.target == Target::Rgba {
            return recolor::gray16_to_rgba(row, &scratch.lookup, into);
        }
        let samples = into.len() / self.pixel * samples_per_pixel(self.color);
        if scratch.wide.len() < samples {
            scratch.wide.resize(samples, 0);
        }
        let wide = &mut scratch.wide[..samples];
        match self.depth {
            16 => widen::high_bytes(row, wide),
            bits => {
                let raw = self.target == Target::Index || matches!(self.color, Color::Palette { .. });
                widen::unpack(row, bits, raw, wide);
            }
        }
        self.recolor(&scratch.wide[..samples], &scratch.lookup, into);
    }

    fn recolor(&self, samples: &[u8], lookup: &Lookup, into: &mut [u8]) {
        match (self.color, self.target) {
            (Color::Gray, Target::Rgb) => recolor::gray_to_rgb(samples, into),
            (Color::Gray, Target::Rgba) => recolor::gray_to_rgba(samples, lookup, into),
            (Color::GrayAlpha, Target::Gray) => recolor::gray_alpha_to_gray(samples, into),
            (Color::GrayAlpha, Target::Rgb) => recolor::gray_alpha_to_rgb(samples, into),
            (Color::GrayAlpha, Target::Rgba) => recolor::gray_alpha_to_rgba(samples, into),
            (Color::Rgb, Target::Gray) => recolor::to_gray::<3>(samples, into),
            (Color::Rgb, Target::Rgba) => recolor::rgb_to_rgba(samples, lookup, into),
            (Color::Rgba, Target::Gray) => recolor::to_gray::<4>(samples, into),
            (Color::Rgba, Target::Rgb) => recolor::rgba_to_rgb(samples, into),
            (_, Target::Index) => into.copy_from_slice(samples),
            (Color::Palette { .. }, Target::Gray) => lookup.to_gray(samples, into),
            (Color::Palette { .. }, Target::Rgb) => lookup.to_rgb(samples, into),
            (Color::Palette { .. }, _) => lookup.to_rgba(samples, into),
            // Same channels in and out: widened rows, and those of an interlace pass.
            _ => into.copy_from_slice(samples),
        }
    }
}

/// Samples the file stores per pixel; a palette index is one.
pub(crate) fn samples_per_pixel(color: Color) -> usize {
    match color {
        Color::Gray | Color::Palette { .. } => 1,
        Color::GrayAlpha => 2,
        Color::Rgb => 3,
        Color::Rgba => 4,
    }
}

/// Bits per pixel as stored.
pub(crate) fn bits_per_pixel(header: &Header) -> usize {
    samples_per_pixel(header.color) * usize::from(header.bit_depth)
}
