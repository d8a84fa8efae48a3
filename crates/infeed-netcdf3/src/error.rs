//! What can be wrong with a file, or with what was asked of it.

use std::fmt;

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes could not be read, as the byte source tells it.
pub type ReadError = Box<dyn std::error::Error + Send + Sync>;

/// Why something could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The signature is missing.
    NotNetcdf3,
    /// The file is shorter than it says.
    Truncated {
        /// Where the bytes that are needed end.
        needs: u64,
        /// How many bytes there are.
        has: u64,
    },
    /// The bytes contradict themselves or the specification.
    Damaged {
        /// What is wrong.
        what: String,
        /// Where: an offset in the file.
        at: u64,
    },
    /// Larger than a limit allows.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: u64,
        /// What is allowed.
        limit: u64,
    },
    /// There is no such variable.
    NotFound(String),
    /// The request does not fit the variable.
    Request(String),
    /// The byte source failed.
    Read(ReadError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotNetcdf3 => {
                f.write_str("not a classic NetCDF file: it does not begin with CDF and 1, 2 or 5")
            }
            Error::Truncated { needs, has } => {
                write!(
                    f,
                    "the file is cut short: {needs} bytes are needed and {has} are there; copy it again"
                )
            }
            Error::Damaged { what, at } => write!(f, "damaged NetCDF file: {what}, at byte {at}"),
            Error::TooLarge { what, size, limit } => {
                write!(
                    f,
                    "{what} of {size} is more than the limit of {limit}; raise the limit if this is right"
                )
            }
            Error::NotFound(what) | Error::Request(what) => f.write_str(what),
            Error::Read(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read(error) => Some(&**error),
            _ => None,
        }
    }
}
