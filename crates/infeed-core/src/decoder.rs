//! Record to sample: decoders and image codecs.

use crate::{Error, FieldSpec, Result, Scratch, TargetRule, Value};
use bytes::Bytes;
use std::fmt::Debug;

/// Turns a field of a record into a field of a sample.
pub trait Decoder: Debug + Send + Sync {
    /// Returns the spec of the result.
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec>;

    /// Decodes a field. Images only read the header: pixels are decoded when it is known which are wanted.
    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value>;

    /// Decodes a field that is no bytes any more, for decoders whose `spec` takes such fields.
    fn decode_value(&self, value: Value, _: &mut Scratch) -> Result<Value> {
        Err(Error::sample(format!("cannot decode {}", value.what())))
    }

    /// Returns what belongs to the field, if it lies in an image.
    fn target(&self) -> Option<TargetRule> {
        None
    }
}

/// Which channels the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Red, green, blue.
    Rgb,
    /// Luminance.
    Gray,
    /// Whatever the file has.
    Stored,
}

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rect {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

/// The part of an image that the rest of the pipeline uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// The pixels, in full-size coordinates.
    pub region: Rect,
    /// The codec may shrink by this factor (1, 2, 4 or 8) while decoding.
    pub shrink: u32,
    /// The channels.
    pub channels: Channels,
}

/// What a codec knows of an image without decoding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageInfo {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Channels with [`Channels::Stored`].
    pub channels: u8,
    /// Bits per channel: 8 or 16.
    pub depth: u8,
    /// EXIF orientation, 1 to 8.
    pub orientation: u8,
    /// Largest factor the codec can shrink by; 1 if it cannot.
    pub shrinks: u32,
}

/// The pixels that a codec returned: at least the wanted region, at most the whole image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// The factor it shrank by; the other numbers are in shrunken pixels.
    pub shrink: u32,
    /// The location of the patch in the image.
    pub area: Rect,
    /// Interleaved channels.
    pub channels: u8,
}

/// One image file format.
pub trait ImageCodec: Debug + Send + Sync {
    /// Whether the bytes look like this format.
    fn sniff(&self, bytes: &[u8]) -> bool;

    /// Reads the header.
    fn probe(&self, bytes: &[u8]) -> Result<ImageInfo>;

    /// Decodes into `into`, which is overwritten and resized to `area.width * area.height * channels` bytes (times
    /// two for 16-bit images, native-endian).
    fn read(
        &self,
        bytes: &[u8],
        info: &ImageInfo,
        want: &Want,
        scratch: &mut Scratch,
        into: &mut Vec<u8>,
    ) -> Result<Patch>;

    /// Decodes a whole 8-bit image directly to its destination: rows without padding, `out` of exactly the right size.
    /// `Ok(false)`, the default, means that the codec cannot and that nothing was written.
    fn read_whole(
        &self,
        _bytes: &[u8],
        _info: &ImageInfo,
        _channels: Channels,
        _scratch: &mut Scratch,
        _out: &mut [u8],
    ) -> Result<bool> {
        Ok(false)
    }

    /// Whether decoders of devices, which know only the most common kind of file, take this one, and nothing about it shows
    /// damage: the bytes up to its end. Looks at markers alone. `None`, the default, means no.
    fn whole(&self, _bytes: &[u8]) -> Option<usize> {
        None
    }
}
