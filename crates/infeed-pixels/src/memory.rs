//! Working memory as long as a picture's rows, whose length comes from a file.

use std::fmt;

/// The system has no memory for the rows that an operation works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory {
    bytes: usize,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system has no memory for {} bytes of rows", self.bytes)
    }
}

impl std::error::Error for NoMemory {}

/// `len` zeros, or an error where `vec![]` would end the process.
pub(crate) fn zeros<T: Default + Clone>(len: usize) -> Result<Vec<T>, NoMemory> {
    let mut out = Vec::new();
    out.try_reserve_exact(len).map_err(|_| NoMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    out.resize(len, T::default());
    Ok(out)
}
