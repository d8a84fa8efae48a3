//! Record to sample: bytes become pixels, numbers, text or arrays.
//!
//! Two tables. [`DECODERS`] is what users name (`jpg="rgb"`, `cls="int"`). [`CODECS`] is what the image decoders
//! choose from by looking at the bytes, never at the field's name: data sets are full of PNG files called `.jpg`.
//!
//! Image decoders read the header only. Pixels are made by [`Image::render`](infeed_core::Image::render), when the
//! transforms have said which of them are used.
//!
//! A new decoder or codec is a folder here and one line in its table.

mod bytes;
mod codec;
#[cfg(feature = "images")]
mod exif;
#[cfg(feature = "images")]
mod image;
#[cfg(feature = "images")]
mod jpeg;
mod json;
mod npy;
#[cfg(feature = "images")]
mod orient;
#[cfg(feature = "images")]
mod other;
#[cfg(feature = "images")]
mod pixels;
#[cfg(feature = "images")]
mod png;
mod scalar;
mod text;
#[cfg(feature = "images")]
mod webp;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use infeed_core::{Decoder, Entry, Error, FieldKind, FieldSpec, Result};

pub use codec::{Codec, codec_of};

/// Everything that can stand behind a field's name in `decode`.
pub static DECODERS: &[&Entry<dyn Decoder>] = &[
    #[cfg(feature = "images")]
    &image::RGB,
    #[cfg(feature = "images")]
    &image::GRAY,
    #[cfg(feature = "images")]
    &image::STORED,
    &scalar::INT,
    &scalar::FLOAT,
    &text::ENTRY,
    &json::ENTRY,
    &npy::ENTRY,
    &bytes::ENTRY,
];

/// Every image format, the most common first since they are tried in this order.
#[cfg(feature = "images")]
pub static CODECS: &[Codec] =
    &[jpeg::CODEC, png::CODEC, webp::CODEC, other::TIFF, other::BMP, other::GIF, other::PNM];

/// Image formats need the feature `images`: without it there are none.
#[cfg(not(feature = "images"))]
pub static CODECS: &[Codec] = &[];

/// Refuses a field that something has decoded already.
fn needs_encoded(name: &str, field: &FieldSpec) -> Result<()> {
    if field.kind == FieldKind::Encoded {
        return Ok(());
    }
    Err(Error::plan(
        format!("decode {name}"),
        format!("the field is already {field}; only encoded bytes can be decoded, so leave this decoder out"),
    ))
}
