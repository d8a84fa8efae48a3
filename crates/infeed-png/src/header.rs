//! The header: what is known before any pixel is decoded.

use crate::chunk::{Chunk, Name, SIGNATURE};
use crate::error::Error;

/// How the file stores a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Color {
    /// One channel.
    Gray,
    /// Gray and alpha.
    GrayAlpha,
    /// Three channels.
    Rgb,
    /// Three channels and alpha.
    Rgba,
    /// An index into a table of RGB colours.
    Palette {
        /// Whether the table also holds alpha (a `tRNS` chunk).
        has_alpha: bool,
    },
}

/// The properties of an image, read by [`read_header`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Header {
    /// Width in pixels, 1 to 2^31-1.
    pub width: u32,
    /// Height in pixels, 1 to 2^31-1.
    pub height: u32,
    /// Bits per sample as stored: 1, 2, 4, 8 or 16.
    pub bit_depth: u8,
    /// How a pixel is stored.
    pub color: Color,
    /// Whether the rows come in the seven passes of Adam7.
    pub interlaced: bool,
    /// Whether a `tRNS` chunk names one gray or RGB value that is transparent.
    pub color_key: bool,
}

impl Header {
    /// Bytes that the pixel data takes when it is inflated: what decoding needs besides the pixels it writes.
    #[must_use]
    pub fn inflated_len(&self) -> u64 {
        crate::decode::inflated_size(self).map_or(u64::MAX, |len| len as u64)
    }

    /// Whether a file of so many bytes can hold the pixels: nothing is packed tighter than deflate can.
    #[must_use]
    pub fn fits_in(&self, file: usize) -> bool {
        self.inflated_len() / crate::decode::MAX_EXPANSION as u64 <= file as u64
    }
}

/// The requested pixel format. All are `u8`, except 16-bit images requested as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// Three bytes per pixel; alpha is dropped, not blended.
    Rgb,
    /// One byte per pixel, ITU-R 601 luma with Pillow's integer weights.
    Gray,
    /// Four bytes per pixel, alpha not premultiplied.
    Rgba,
    /// The channels the file has, see [`stored_format`]. Palettes become RGB or RGBA, samples below 8 bits
    /// are scaled to 0..=255, 16-bit samples are native-endian `u16`. A colour key is not applied.
    AsStored,
    /// One byte per pixel: the sample as it is stored, neither scaled nor looked up. For palettes and for gray of at most
    /// 8 bits, where samples are the classes of a mask.
    Index,
}

/// `(channels, bytes_per_channel)` of [`Output::AsStored`].
#[must_use]
pub fn stored_format(header: &Header) -> (usize, usize) {
    let channels = match header.color {
        Color::Gray => 1,
        Color::GrayAlpha => 2,
        Color::Rgb | Color::Palette { has_alpha: false } => 3,
        Color::Rgba | Color::Palette { has_alpha: true } => 4,
    };
    (channels, if header.bit_depth == 16 { 2 } else { 1 })
}

/// Reads the header of a file: at most up to where the pixel data begins.
///
/// # Errors
///
/// [`Error::NotPng`], [`Error::Truncated`], [`Error::Corrupt`] or [`Error::Unsupported`].
pub fn read_header(bytes: &[u8]) -> Result<Header, Error> {
    Ok(Preamble::read(bytes, Check::OnlyUsed)?.header)
}

/// Which CRCs to check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Only chunks whose content matters for the header: a large colour profile costs nothing.
    OnlyUsed,
    /// All of them: a flipped bit in a chunk's type would otherwise make it vanish silently.
    All,
}

/// Everything in front of the pixel data.
pub(crate) struct Preamble<'a> {
    pub(crate) header: Header,
    pub(crate) palette: &'a [u8],
    /// Content of `tRNS`; empty without one.
    pub(crate) transparency: &'a [u8],
    /// Where the first `IDAT` chunk begins.
    pub(crate) pixels_at: usize,
}

impl<'a> Preamble<'a> {
    pub(crate) fn read(bytes: &'a [u8], check: Check) -> Result<Self, Error> {
        if !bytes.starts_with(&SIGNATURE) {
            let cut_short = !bytes.is_empty() && SIGNATURE.starts_with(bytes);
            return Err(if cut_short { Error::Truncated } else { Error::NotPng });
        }
        let (first, mut at) = Chunk::read(bytes, SIGNATURE.len())?;
        let header = match &first.kind {
            b"IHDR" => parse_ihdr(&first)?,
            b"CgBI" => return Err(Error::Unsupported("Apple's CgBI variant".into())),
            kind => return Err(Error::corrupt(format!("first chunk is {}, not IHDR", Name(*kind)))),
        };
        let mut found = Self { header, palette: &[], transparency: &[], pixels_at: 0 };
        loop {
            // The caller may have only the front of the file, without all of the first IDAT, so check the type first.
            if crate::chunk::kind_at(bytes, at).ok_or(Error::Truncated)? == *b"IDAT" {
                found.pixels_at = at;
                return found.checked();
            }
            let (chunk, next) = Chunk::read(bytes, at)?;
            at = next;
            let used = matches!(&chunk.kind, b"PLTE" | b"tRNS");
            if used || check == Check::All {
                chunk.verify()?;
            }
            match &chunk.kind {
                b"PLTE" => found.palette = chunk.data,
                b"tRNS" => found.transparency = chunk.data,
                b"IEND" => return Err(Error::corrupt("no pixel data: IEND without IDAT")),
                b"IHDR" => return Err(Error::corrupt("second IHDR")),
                kind if chunk.is_critical() => {
                    return Err(Error::Unsupported(format!("unknown critical chunk {}", Name(*kind))));
                }
                _ => {}
            }
        }
    }

    /// Checks `PLTE` and `tRNS` for this kind of pixel.
    fn checked(mut self) -> Result<Self, Error> {
        let trns = self.transparency.len();
        match &mut self.header.color {
            Color::Palette { has_alpha } => {
                let len = self.palette.len();
                if len == 0 || !len.is_multiple_of(3) || len > 768 {
                    return Err(Error::corrupt(format!("PLTE of {len} bytes in a palette image")));
                }
                if trns > 256 {
                    return Err(Error::corrupt(format!("tRNS of {trns} bytes in a palette image")));
                }
                *has_alpha = trns > 0;
            }
            Color::Gray if trns >= 2 => self.header.color_key = true,
            Color::Rgb if trns >= 6 => self.header.color_key = true,
            // Too short to be a key, or in addition to an alpha channel: meaningless, and Pillow ignores it too.
            _ => self.transparency = &[],
        }
        Ok(self)
    }
}

fn parse_ihdr(chunk: &Chunk<'_>) -> Result<Header, Error> {
    chunk.verify()?;
    let &[w0, w1, w2, w3, h0, h1, h2, h3, bit_depth, color, compression, filter, interlace] = chunk.data
    else {
        return Err(Error::corrupt(format!("IHDR of {} bytes instead of 13", chunk.data.len())));
    };
    let width = u32::from_be_bytes([w0, w1, w2, w3]);
    let height = u32::from_be_bytes([h0, h1, h2, h3]);
    let valid = 1..=i32::MAX as u32;
    if !valid.contains(&width) || !valid.contains(&height) {
        return Err(Error::corrupt(format!("impossible size {width}x{height}")));
    }
    let color = match (color, bit_depth) {
        (0, 1 | 2 | 4 | 8 | 16) => Color::Gray,
        (2, 8 | 16) => Color::Rgb,
        (3, 1 | 2 | 4 | 8) => Color::Palette { has_alpha: false },
        (4, 8 | 16) => Color::GrayAlpha,
        (6, 8 | 16) => Color::Rgba,
        _ => return Err(Error::corrupt(format!("colour type {color} with {bit_depth} bits per sample"))),
    };
    if (compression, filter) != (0, 0) || interlace > 1 {
        return Err(Error::Unsupported(format!(
            "compression {compression}, filter {filter}, interlace {interlace}"
        )));
    }
    Ok(Header { width, height, bit_depth, color, interlaced: interlace == 1, color_key: false })
}
