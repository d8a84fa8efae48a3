//! What can be wrong with a request.

use std::fmt;

/// Why a render was refused. Nothing has been written in that case, except where a variant says so.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The picture has a number of channels other than 1, 3 or 4.
    Channels(usize),
    /// An axis has no pixels, or its window reaches outside the resized picture.
    Axis {
        /// Pixels of the picture along the axis.
        source: u32,
        /// Pixels after the resize.
        full: u32,
        /// First pixel asked for.
        start: u32,
        /// One past the last pixel asked for.
        end: u32,
    },
    /// The span of an axis is not a range of the picture: it has a NaN, is outside, or is empty, possibly only
    /// in single precision.
    Span {
        /// Pixels of the picture along the axis.
        source: u32,
        /// Where the span starts.
        start: f64,
        /// Where the span ends.
        end: f64,
    },
    /// The pixel buffer is shorter than its width, height and stride say.
    PixelsTooShort {
        /// Bytes the description implies.
        needed: usize,
        /// Bytes there are.
        len: usize,
    },
    /// The available pixels do not cover what the filter reads.
    NotCovered {
        /// `"x"` or `"y"`.
        axis: &'static str,
        /// First source pixel the filter reads.
        start: u32,
        /// One past the last source pixel the filter reads.
        end: u32,
    },
    /// The output buffer is too short for the window and its strides.
    SinkTooShort {
        /// Bytes the strides imply.
        needed: usize,
        /// Bytes there are.
        len: usize,
    },
    /// A size does not fit the address space.
    TooLarge,
    /// The system has no memory for coefficients or rows. Some rows may have been written.
    NoMemory,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Channels(n) => write!(f, "{n} channels; 1, 3 or 4 are supported"),
            Error::Axis { source, full, start, end } => {
                write!(f, "cannot produce pixels {start}..{end} of an axis resized from {source} to {full}")
            }
            Error::Span { source, start, end } => {
                write!(f, "{start}..{end} is not a range within the {source} pixels of an axis")
            }
            Error::PixelsTooShort { needed, len } => {
                write!(f, "the picture needs {needed} bytes, its buffer has {len}")
            }
            Error::NotCovered { axis, start, end } => {
                write!(
                    f,
                    "the filter reads source pixels {start}..{end} along {axis}, which are not all available"
                )
            }
            Error::SinkTooShort { needed, len } => {
                write!(f, "the output needs {needed} bytes, its buffer has {len}")
            }
            Error::TooLarge => f.write_str("a size does not fit the address space"),
            Error::NoMemory => f.write_str("the system has no memory for the resize"),
        }
    }
}

impl std::error::Error for Error {}
