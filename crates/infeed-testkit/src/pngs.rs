//! PNG files.

use infeed_core::{Error, Result};

/// The pixel format of a PNG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PngKind {
    /// One byte per pixel.
    Gray,
    /// Two bytes: brightness and opacity.
    GrayAlpha,
    /// Three bytes.
    Rgb,
    /// Four bytes.
    Rgba,
    /// Two bytes, big-endian.
    Gray16,
    /// Six bytes, big-endian.
    Rgb16,
}

impl PngKind {
    fn code(self) -> (png::ColorType, png::BitDepth) {
        match self {
            PngKind::Gray => (png::ColorType::Grayscale, png::BitDepth::Eight),
            PngKind::GrayAlpha => (png::ColorType::GrayscaleAlpha, png::BitDepth::Eight),
            PngKind::Rgb => (png::ColorType::Rgb, png::BitDepth::Eight),
            PngKind::Rgba => (png::ColorType::Rgba, png::BitDepth::Eight),
            PngKind::Gray16 => (png::ColorType::Grayscale, png::BitDepth::Sixteen),
            PngKind::Rgb16 => (png::ColorType::Rgb, png::BitDepth::Sixteen),
        }
    }
}

/// Encodes interleaved rows without gaps as a PNG file.
pub fn png(pixels: &[u8], width: u32, height: u32, kind: PngKind) -> Result<Vec<u8>> {
    let failed = |e: png::EncodingError| Error::argument(format!("PNG of {width}x{height}: {e}"));
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    let (color, depth) = kind.code();
    encoder.set_color(color);
    encoder.set_depth(depth);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(out)
}
