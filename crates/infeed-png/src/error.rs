//! What can be wrong with a file, or with the request.

use std::fmt;

/// Why an image could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not begin with the PNG signature.
    NotPng,
    /// The bytes end before the pixel data does.
    Truncated,
    /// The bytes contradict themselves or the PNG specification.
    Corrupt(String),
    /// The pixels do not fit in this machine's memory.
    TooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// A valid file that needs something this decoder does not do.
    Unsupported(String),
    /// The caller's header, buffer or stride does not fit the image.
    BadRequest(String),
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPng => f.write_str("not a PNG: the 8-byte signature is missing"),
            Self::Truncated => f.write_str("truncated PNG: the bytes end before the pixel data does"),
            Self::Corrupt(what) => write!(f, "corrupt PNG: {what}"),
            Self::TooLarge { width, height } => {
                write!(f, "PNG of {width}x{height} pixels does not fit in memory")
            }
            Self::Unsupported(what) => write!(f, "unsupported PNG: {what}"),
            Self::BadRequest(what) => write!(f, "bad PNG decode request: {what}"),
        }
    }
}

impl std::error::Error for Error {}
