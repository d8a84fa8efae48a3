//! What can be wrong with a store, or with what was asked of it.

use std::fmt;

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes could not be read, as the store tells it.
pub type ReadError = Box<dyn std::error::Error + Send + Sync>;

/// Why something could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no Zarr array or group here.
    NotZarr(String),
    /// The metadata or the bytes contradict themselves or the specification.
    Damaged(String),
    /// Valid, but it needs something this reader does not do.
    Unsupported(String),
    /// Larger than a limit allows.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        size: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A codec could not undo its work.
    Codec {
        /// Its name.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// There is no such object.
    NotFound(String),
    /// The request does not fit the array.
    Request(String),
    /// The store failed.
    Read(ReadError),
    /// One of the above, in an object of the store.
    In {
        /// The path of the array or group, or the key of the object.
        path: String,
        /// What is wrong.
        source: Box<Error>,
    },
}

impl Error {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Error::Damaged(what.into())
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Error::Unsupported(what.into())
    }

    /// Says in which object this happened; the innermost name stays.
    pub(crate) fn within(self, path: &str) -> Self {
        match self {
            Error::In { .. } | Error::Read(_) | Error::NotFound(_) | Error::NotZarr(_) => self,
            other => Error::In { path: path.to_owned(), source: Box::new(other) },
        }
    }

    /// The error itself, without the path around it.
    pub fn cause(&self) -> &Error {
        match self {
            Error::In { source, .. } => source.cause(),
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotZarr(what) => write!(f, "no Zarr array or group: {what}"),
            Error::Damaged(what) => write!(f, "damaged Zarr data: {what}"),
            Error::Unsupported(what) => write!(f, "this reader cannot read {what}"),
            Error::TooLarge { what, size, limit } => {
                write!(
                    f,
                    "{what} of {size} is more than the limit of {limit}; raise the limit if this is right"
                )
            }
            Error::Codec { name, what } => write!(f, "codec {name}: {what}"),
            Error::NotFound(what) | Error::Request(what) => f.write_str(what),
            Error::Read(error) => write!(f, "{error}"),
            Error::In { path, source } => write!(f, "{path}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read(error) => Some(&**error),
            Error::In { source, .. } => Some(&**source),
            _ => None,
        }
    }
}
