//! Errors of the reader in the loader's words.

use infeed_core::Error;
use infeed_hdf5::Error as Inner;

/// What went wrong while a file was opened.
pub(super) fn at_opening(name: &str, error: Inner) -> Error {
    if let Some(cause) = storage(&error) {
        return cause;
    }
    let at = match error.cause() {
        Inner::Damaged { at, .. } => at.unwrap_or(0),
        Inner::Truncated { has, .. } => *has,
        Inner::NotHdf5 => 0,
        // The file is sound; what is in it cannot be read, or is not there.
        _ => return Error::argument(format!("`{name}`: {error}")),
    };
    Error::Format { shard: name.to_owned(), offset: at, what: error.to_string() }
}

/// What went wrong while rows were read.
pub(super) fn at_reading(error: Inner) -> Error {
    storage(&error).unwrap_or_else(|| Error::sample(error.to_string()))
}

/// The error of the store, if that is the cause.
fn storage(error: &Inner) -> Option<Error> {
    match error.cause() {
        Inner::Read(cause) => cause.downcast_ref::<Error>().cloned(),
        _ => None,
    }
}
