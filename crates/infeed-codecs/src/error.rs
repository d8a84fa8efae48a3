//! Why bytes could not be decoded. The caller knows which codec it asked, and of which chunk.

use std::fmt;

/// How many bytes a codec made, or why it could not.
pub type Result<T = usize> = std::result::Result<T, Error>;

/// What is wrong with the bytes, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl From<String> for Error {
    fn from(what: String) -> Self {
        Error(what)
    }
}

impl From<&str> for Error {
    fn from(what: &str) -> Self {
        Error(what.to_owned())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
