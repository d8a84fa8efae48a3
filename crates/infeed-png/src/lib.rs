//! The PNG decoder of infeed: fast for many small images and for large ones.
//!
//! ```text
//! bytes -> chunk (walk, CRC) -> header -> inflate (libdeflate, one shot)
//!       -> filter (row by row) -> convert (to the requested pixels) -> caller's buffer
//! ```
//!
//! The caller owns the output, so a batch can be decoded in place:
//!
//! ```
//! # fn demo(bytes: &[u8]) -> Result<Vec<u8>, infeed_png::Error> {
//! let header = infeed_png::read_header(bytes)?;
//! let stride = header.width as usize * 3;
//! let mut pixels = vec![0; stride * header.height as usize];
//! let mut decoder = infeed_png::Decoder::new(); // keep one per thread
//! decoder.decode(bytes, &header, infeed_png::Output::Rgb, &mut pixels, stride)?;
//! # Ok(pixels)
//! # }
//! ```
//!
//! # What the pixels are
//!
//! [`Output::Rgb`], [`Output::Gray`] and [`Output::Rgba`] give what Pillow's
//! `Image.open(..).convert("RGB" | "L" | "RGBA")` gives, byte for byte, including what it does with:
//!
//! * a palette index past the end of the palette: opaque black;
//! * a `tRNS` colour key on gray or RGB (visible in [`Output::Rgba`] only): Pillow compares the key's low
//!   byte with the 8-bit value shown, so keys of 2-, 4- and 16-bit images seldom match. Ours do the same.
//!
//! The one exception is 16-bit gray, which Pillow clips at 255: here the high byte is kept, as for every
//! other 16-bit image, and a colour key is compared in full.
//!
//! # What is refused
//!
//! A wrong CRC in any chunk up to the end of the pixel data, a wrong Adler-32, too few or too many pixels,
//! and unknown critical chunks. Chunks after the pixel data are not read, so a file that lacks its end but has
//! all pixels still decodes. Of an animation, the default image is decoded.
// Only `filter::fast` allows it, to call the SSE2 code.
#![deny(unsafe_code)]

mod chunk;
mod convert;
mod decode;
mod error;
mod filter;
mod header;
mod inflate;
mod interlace;
mod rows;

pub use decode::Decoder;
pub use error::Error;
pub use header::{Color, Header, Output, read_header, stored_format};
