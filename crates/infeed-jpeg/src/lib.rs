//! JPEG decoding for training pipelines.
//!
//! The crate decodes one region of a file at a given scale, fast. [`read_header`] reads the markers without
//! touching the entropy-coded data, and [`Decoder::decode`] produces exactly the requested rows. A decoded region
//! is byte for byte the same as that region of the full image, so the position of a crop never changes the pixels
//! inside it.
//!
//! Common files (sequential Huffman, gray or YCbCr) are decoded by this crate's own decoder; all others, and
//! files with any irregularity, by libjpeg-turbo. Both give identical bytes. Builds with `--cfg infeed_portable`
//! have neither libjpeg-turbo nor SIMD: files that are not common are errors there.
//!
//! ```
//! # fn main() -> Result<(), infeed_jpeg::Error> {
//! # let bytes: &[u8] = infeed_jpeg::doc_sample();
//! use infeed_jpeg::{Decoder, Output, Region, Request, Scale, read_header};
//!
//! let header = read_header(bytes)?;
//! let request = Request { scale: Scale::Full, region: Region::whole(&header, Scale::Full), output: Output::Rgb };
//! let stride = request.region.width as usize * 3;
//! let mut pixels = vec![0; stride * request.region.height as usize];
//! Decoder::new()?.decode(bytes, &header, &request, &mut pixels, stride)?;
//! # Ok(())
//! # }
//! ```

#[cfg(not(infeed_portable))]
mod cmyk;
mod decoder;
#[cfg(not(infeed_portable))]
mod ending;
mod engines;
mod error;
mod exif;
mod fast;
mod header;
mod markers;
mod request;
#[cfg(not(infeed_portable))]
mod tables;
#[cfg_attr(infeed_portable, path = "absent.rs")]
mod turbo;

#[cfg(test)]
#[cfg(not(infeed_portable))]
mod tests;

#[doc(hidden)]
pub use decoder::Backend;
pub use decoder::Decoder;
pub use engines::suits_engines;
pub use error::Error;
pub use header::{Color, Header, Subsampling, read_header};
pub use request::{Output, Region, Request, Scale};
pub use turbo::simd_enabled;

/// A tiny gray JPEG for the documentation examples.
#[doc(hidden)]
pub fn doc_sample() -> &'static [u8] {
    include_bytes!("sample.jpg")
}
