//! What goes wrong on a device.

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a batch could not be made on a device.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A library, or the device itself, is not there or too old.
    #[error("{0}")]
    Missing(String),
    /// The device, or page-locked memory, is full.
    #[error(
        "no memory left for {what} ({bytes} bytes): use smaller batches, a smaller ahead=, or decode=\"cpu\", which needs \
         none of it"
    )]
    Memory {
        /// What the memory is for.
        what: &'static str,
        /// How much was asked for.
        bytes: usize,
    },
    /// A call into a library failed.
    #[error("{call} failed with {code} ({why})")]
    Call {
        /// The function.
        call: &'static str,
        /// Its answer.
        code: i32,
        /// What that means.
        why: String,
    },
    /// A batch that does not fit what it is drawn into, or an image that could not be made.
    #[error(transparent)]
    Image(#[from] infeed_core::Error),
}
