//! TIFF, BMP and the portable maps (PBM, PGM, PPM, PAM), through the crate `image`.
//!
//! They are rare in training sets, so they share one simple path: decode everything, convert the wanted part.

mod bmp;
mod tiff;

use super::{
    Codec,
    pixels::{Decoded, byte_count, channel_count, check_region, room, stored_channels},
};
use image::{
    ColorType, ExtendedColorType, ImageDecoder, ImageError, Limits,
    codecs::{bmp::BmpDecoder, pnm::PnmDecoder, tiff::TiffDecoder},
    error::{LimitErrorKind, UnsupportedErrorKind},
};
use infeed_core::{Error, ImageCodec, ImageInfo, Patch, Result, Scratch, Want};
use std::{
    convert::Infallible,
    error::Error as _,
    io::{Cursor, ErrorKind},
};

#[cfg(test)]
mod tests;

/// The table entry of TIFF.
pub(super) const TIFF: Codec = Codec {
    name: "tiff",
    about: "TIFF of gray or RGB, 1, 8 or 16 bits, with or without alpha; the first page",
    extensions: &["tif", "tiff"],
    codec: &Other::Tiff,
};

/// The table entry of BMP.
pub(super) const BMP: Codec =
    Codec { name: "bmp", about: "Windows bitmaps", extensions: &["bmp", "dib"], codec: &Other::Bmp };

/// The table entry of the portable maps.
pub(super) const PNM: Codec = Codec {
    name: "pnm",
    about: "portable maps: PBM, PGM, PPM and PAM, text or binary",
    extensions: &["ppm", "pgm", "pbm", "pnm", "pam"],
    codec: &Other::Pnm,
};

/// Memory that a decoder may use besides the pixels: strips, palettes, dictionaries.
const WORKING_MEMORY: u64 = 64 << 20;

#[derive(Debug, Clone, Copy)]
enum Other {
    Tiff,
    Bmp,
    Pnm,
}

/// The thread's memory for whole decoded images.
#[derive(Default)]
struct Whole(Vec<u8>);

impl ImageCodec for Other {
    fn sniff(&self, bytes: &[u8]) -> bool {
        match self {
            Other::Tiff => matches!(bytes, [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..]),
            // Two letters are a weak signature; the four reserved bytes are zero in every bitmap.
            Other::Bmp => matches!(bytes, [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..]),
            Other::Pnm => matches!(bytes, [b'P', b'1'..=b'7', b' ' | b'\t' | b'\r' | b'\n' | b'#', ..]),
        }
    }

    fn probe(&self, bytes: &[u8]) -> Result<ImageInfo> {
        let mut decoder = self.open(bytes)?;
        let (width, height) = decoder.dimensions();
        let (channels, wide) = self.kind(&*decoder)?;
        let orientation = decoder.orientation().map_err(|e| self.explain(e))?.to_exif();
        let channels = stored_channels(channels, wide);
        Ok(ImageInfo { width, height, channels, depth: if wide { 16 } else { 8 }, orientation, shrinks: 1 })
    }

    fn read(
        &self,
        bytes: &[u8],
        info: &ImageInfo,
        want: &Want,
        scratch: &mut Scratch,
        into: &mut Vec<u8>,
    ) -> Result<Patch> {
        check_region(info, want)?;
        let mut decoder = self.open(bytes)?;
        let (channels, wide) = self.kind(&*decoder)?;
        let (width, height) = decoder.dimensions();
        let pixel = usize::from(channels) << u8::from(wide);
        let len = byte_count(width, height, pixel)?;
        let decoded = |data| Decoded { data, width, channels, wide };
        let out = byte_count(want.region.width, want.region.height, decoded(&[]).pixel(want.channels))?;
        // Twice the pixels: some decoders keep a copy of their own.
        scratch.claim((len as u64).saturating_mul(2).saturating_add(out as u64))?;
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some((len as u64).saturating_mul(2).saturating_add(WORKING_MEMORY));
        decoder.set_limits(limits).map_err(|e| self.explain(e))?;
        let Ok(Whole(data)) = scratch.keep(|| Ok::<_, Infallible>(Whole::default()));
        let data = room(data, len)?;
        let facts = if let Other::Bmp = self { bmp::Facts::read(bytes) } else { None };
        match facts {
            Some(facts) if facts.is_run_length() && (channels, wide) == (3, false) => {
                facts.read_runs(width as usize, height as usize, data)?;
            }
            facts => {
                decoder.read_image_boxed(data).map_err(|e| self.explain(e))?;
                if let Some(facts) = facts {
                    facts.round_down(channels, data);
                }
            }
        }
        if let Other::Tiff = self
            && tiff::Facts::read(bytes).premultiplied
        {
            tiff::unmultiply(data, channels, wide, want.channels);
        }
        decoded(data).write(want.region, want.channels, room(into, out)?);
        Ok(Patch { shrink: 1, area: want.region, channels: channel_count(info, want.channels) })
    }
}

impl Other {
    fn name(&self) -> &'static str {
        match self {
            Other::Tiff => "TIFF",
            Other::Bmp => "BMP",
            Other::Pnm => "portable map",
        }
    }

    /// Reads the header.
    fn open<'a>(&self, bytes: &'a [u8]) -> Result<Box<dyn ImageDecoder + 'a>> {
        if let Other::Tiff = self {
            tiff::Facts::read(bytes).check()?;
        }
        let reader = Cursor::new(bytes);
        let decoder: Result<Box<dyn ImageDecoder + 'a>, ImageError> = match self {
            Other::Tiff => TiffDecoder::new(reader).map(|d| Box::new(d) as _),
            Other::Bmp => BmpDecoder::new(reader).map(|d| Box::new(d) as _),
            Other::Pnm => PnmDecoder::new(reader).map(|d| Box::new(d) as _),
        };
        decoder.map_err(|e| self.explain(e))
    }

    /// Returns the channels, and whether samples have 16 bits.
    fn kind(&self, decoder: &dyn ImageDecoder) -> Result<(u8, bool)> {
        let unsupported = |what: &str| {
            Error::sample(format!("unsupported {}: {what}; convert it to 8- or 16-bit RGB", self.name()))
        };
        // The crate would convert CMYK to RGB by a formula of its own.
        if matches!(decoder.original_color_type(), ExtendedColorType::Cmyk8 | ExtendedColorType::Cmyk16) {
            return Err(unsupported("CMYK colours"));
        }
        match decoder.color_type() {
            ColorType::L8 => Ok((1, false)),
            ColorType::La8 => Ok((2, false)),
            ColorType::Rgb8 => Ok((3, false)),
            ColorType::Rgba8 => Ok((4, false)),
            ColorType::L16 => Ok((1, true)),
            ColorType::La16 => Ok((2, true)),
            ColorType::Rgb16 => Ok((3, true)),
            ColorType::Rgba16 => Ok((4, true)),
            other => Err(unsupported(&format!("pixels of the kind {other:?}"))),
        }
    }

    fn explain(&self, cause: ImageError) -> Error {
        let name = self.name();
        Error::sample(match cause {
            ImageError::IoError(e) if e.kind() == ErrorKind::UnexpectedEof => {
                format!("{name} ends early: the file is truncated")
            }
            ImageError::Limits(e) if matches!(e.kind(), LimitErrorKind::InsufficientMemory) => {
                format!("{name} needs far more memory than its size allows: it is damaged or hostile")
            }
            ImageError::Unsupported(e) => match e.kind() {
                UnsupportedErrorKind::Color(ExtendedColorType::Unknown(bits)) => {
                    format!(
                        "unsupported {name}: {bits}-bit pixels of an unusual kind; convert it to 8- or 16-bit RGB"
                    )
                }
                UnsupportedErrorKind::GenericFeature(what) => format!("unsupported {name}: {what}"),
                _ => format!("unsupported {name}: {e}"),
            },
            // The outer error only repeats the format's name.
            other => match other.source() {
                Some(inner) => format!("corrupt {name}: {inner}"),
                None => format!("corrupt {name}: {other}"),
            },
        })
    }
}
