//! What can go wrong with a file or a request.

use std::fmt;

/// Why a header or an image could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not start with a JPEG start-of-image marker.
    NotJpeg,
    /// The file ends before the data that the request needs.
    Truncated,
    /// The image is larger than any decoder here accepts.
    TooLarge {
        /// Width in pixels, as the file states it.
        width: u32,
        /// Height in pixels, as the file states it.
        height: u32,
    },
    /// A valid JPEG of a kind that is not decoded (12 bit, lossless, ...).
    Unsupported(String),
    /// The file breaks the format in a way that leaves no usable pixels.
    Corrupt(String),
    /// The system has no memory for the image.
    NoMemory,
    /// The caller asked for something impossible: an empty region, a buffer that is too small.
    BadRequest(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotJpeg => f.write_str("not a JPEG file"),
            Error::Truncated => f.write_str("the JPEG file is truncated"),
            Error::TooLarge { width, height } => write!(f, "the JPEG image is too large: {width}x{height}"),
            Error::Unsupported(what) => write!(f, "unsupported JPEG file: {what}"),
            Error::Corrupt(what) => write!(f, "corrupt JPEG file: {what}"),
            Error::NoMemory => f.write_str("the system has no memory for the JPEG image"),
            Error::BadRequest(what) => write!(f, "bad decode request: {what}"),
        }
    }
}

impl std::error::Error for Error {}
