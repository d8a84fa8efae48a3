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
    /// No HDF5 signature at any of the places where it may be.
    NotHdf5,
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
        /// Where: an address in the file.
        at: Option<u64>,
    },
    /// A valid file that needs something this reader does not do.
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
    /// A filter could not undo its work, or there is no such filter here.
    Filter {
        /// Its registered number.
        id: u16,
        /// Its name, if it has one.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// There is no such object.
    NotFound(String),
    /// The request does not fit the data set.
    Request(String),
    /// The byte source failed.
    Read(ReadError),
    /// One of the above, in an object of the file.
    In {
        /// The path of the object.
        path: String,
        /// What is wrong.
        source: Box<Error>,
    },
}

impl Error {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Error::Damaged { what: what.into(), at: None }
    }

    pub(crate) fn damaged_at(at: u64, what: impl Into<String>) -> Self {
        Error::Damaged { what: what.into(), at: Some(at) }
    }

    /// Says in which object this happened; the innermost name stays.
    pub(crate) fn in_object(self, path: &str) -> Self {
        match self {
            Error::In { .. } | Error::Read(_) | Error::NotFound(_) => self,
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
            Error::NotHdf5 => f.write_str("not an HDF5 file: the signature is missing"),
            Error::Truncated { needs, has } => {
                write!(
                    f,
                    "the file is cut short: {needs} bytes are needed and {has} are there; copy it again"
                )
            }
            Error::Damaged { what, at: None } => write!(f, "damaged HDF5 file: {what}"),
            Error::Damaged { what, at: Some(at) } => {
                write!(f, "damaged HDF5 file: {what}, at address {at}")
            }
            Error::Unsupported(what) => write!(f, "this reader cannot read {what}"),
            Error::TooLarge { what, size, limit } => {
                write!(
                    f,
                    "{what} of {size} is more than the limit of {limit}; raise the limit if this is right"
                )
            }
            Error::Filter { id, name, what } => write!(f, "filter {id} ({name}): {what}"),
            Error::NotFound(what) => f.write_str(what),
            Error::Request(what) => f.write_str(what),
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
