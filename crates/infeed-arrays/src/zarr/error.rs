//! Errors of the reader in the loader's words.

use infeed_core::Error;
use infeed_zarr::Error as Inner;

/// What went wrong while a store was opened.
pub(super) fn at_opening(name: &str, error: Inner) -> Error {
    if let Some(cause) = storage(&error) {
        return cause;
    }
    match error.cause() {
        Inner::Damaged(_) | Inner::Codec { .. } => {
            Error::Format { shard: name.to_owned(), offset: 0, what: error.to_string() }
        }
        // The store is sound; what is in it cannot be read, or is not there.
        _ => Error::argument(format!("`{name}`: {error}")),
    }
}

/// What went wrong while rows were read.
pub(super) fn at_reading(error: Inner) -> Error {
    storage(&error).unwrap_or_else(|| Error::sample(error.to_string()))
}

/// The error of the storage below, if that is the cause.
fn storage(error: &Inner) -> Option<Error> {
    match error.cause() {
        Inner::Read(cause) => cause.downcast_ref::<Error>().cloned(),
        _ => None,
    }
}
