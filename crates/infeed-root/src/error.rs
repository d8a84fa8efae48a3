//! What can be wrong with a file, or with what was asked of it.

use std::fmt;

/// The result of everything that reads a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The bytes contradict themselves or the format.
    Damaged {
        /// What is wrong.
        what: String,
        /// Where: an offset in the file, for compressed objects that of their key.
        at: u64,
    },
    /// A part of the format that is not read here, by name.
    Unsupported(String),
    /// The request does not fit the file.
    Request(String),
    /// The store failed.
    Read(infeed_core::Error),
}

impl Error {
    pub(crate) fn damaged(at: u64, what: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), at }
    }

    /// Turns it into an error of the engine that names the file.
    pub(crate) fn of_file(self, name: &str) -> infeed_core::Error {
        match self {
            Error::Damaged { what, at } => {
                infeed_core::Error::Format { shard: name.to_owned(), offset: at, what }
            }
            Error::Unsupported(what) | Error::Request(what) => {
                infeed_core::Error::argument(format!("`{name}`: {what}"))
            }
            Error::Read(error) => error,
        }
    }

    /// Names what was being read.
    pub(crate) fn inside(self, place: &str) -> Error {
        match self {
            Error::Damaged { what, at } => Error::Damaged { what: format!("{place}: {what}"), at },
            Error::Unsupported(what) => Error::Unsupported(format!("{place}: {what}")),
            Error::Request(what) => Error::Request(format!("{place}: {what}")),
            Error::Read(error) => Error::Read(error),
        }
    }
}

impl From<infeed_core::Error> for Error {
    fn from(error: infeed_core::Error) -> Self {
        Error::Read(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Damaged { what, at } => write!(f, "damaged ROOT file: {what}, at byte {at}"),
            Error::Unsupported(what) | Error::Request(what) => f.write_str(what),
            Error::Read(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}
