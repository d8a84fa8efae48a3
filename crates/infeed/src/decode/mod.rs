//! Record to sample: bytes become pixels, numbers, text or arrays.
//!
//! There are two tables. [`DECODERS`] is what users name (`jpg="rgb"`, `cls="int"`). [`CODECS`] is what the image
//! decoders choose from, by the bytes and never by the field's name: data sets often contain PNG files named `.jpg`.
//!
//! Image decoders read the header only. Pixels are decoded by [`Image::render`](infeed_core::Image::render), when the
//! transforms have determined which of them are used.
//!
//! A new decoder or codec is a folder here and one entry in its table.

mod boxes;
mod bytes;
mod codec;
#[cfg(feature = "images")]
mod exif;
#[cfg(feature = "images")]
mod gif;
#[cfg(feature = "images")]
mod image;
mod instance_masks;
#[cfg(feature = "images")]
mod jpeg;
mod json;
mod keypoints;
#[cfg(feature = "images")]
mod mask;
mod npy;
mod numbers;
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
mod memory;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use infeed_core::{Decoder, Entry, Error, FieldKind, FieldSpec, Result};

pub use codec::{Codec, codec_of};

/// Every decoder that `decode` accepts for a field.
pub static DECODERS: &[&Entry<dyn Decoder>] = &[
    #[cfg(feature = "images")]
    &image::RGB,
    #[cfg(feature = "images")]
    &image::GRAY,
    #[cfg(feature = "images")]
    &image::STORED,
    #[cfg(feature = "images")]
    &mask::ENTRY,
    &boxes::ENTRY,
    &keypoints::ENTRY,
    &scalar::INT,
    &scalar::FLOAT,
    &text::ENTRY,
    &json::ENTRY,
    &npy::ENTRY,
    &instance_masks::ENTRY,
    &bytes::ENTRY,
];

/// Every image format, the most common first: they are tried in this order.
#[cfg(feature = "images")]
pub static CODECS: &[Codec] =
    &[jpeg::CODEC, png::CODEC, webp::CODEC, other::TIFF, other::BMP, gif::CODEC, other::PNM];

/// Image formats need the feature `images`: without it there are none.
#[cfg(not(feature = "images"))]
pub static CODECS: &[Codec] = &[];

/// Refuses a field that is already decoded.
fn needs_encoded(name: &str, field: &FieldSpec) -> Result<()> {
    if field.kind == FieldKind::Encoded {
        return Ok(());
    }
    Err(Error::plan(
        format!("decode {name}"),
        format!("the field is already {field}; only encoded bytes can be decoded, so leave this decoder out"),
    ))
}
