//! How a variable of an array format lies in its files.

use std::sync::Arc;

/// One variable, as `infeed inspect` shows it. Numbers of bytes are those of one file or store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The field that it is.
    pub name: Arc<str>,
    /// The type of its values.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// The names of its axes; empty if they have none.
    pub dimensions: Vec<String>,
    /// The shape of the parts that are decoded as a whole, if there are such parts.
    pub chunk: Option<Vec<u64>>,
    /// What was done to these parts, in the order in which it was done.
    pub filters: Vec<String>,
    /// Bytes of its values.
    pub bytes: u64,
    /// Bytes that it takes where it is stored.
    pub stored: u64,
    /// Bytes of one row.
    pub row: u64,
    /// Bytes that are read from the store, and bytes that are decoded, to have one row alone.
    pub read: u64,
    /// See [`Variable::read`].
    pub decoded: u64,
    /// What is wrong with its chunks, and which would be better.
    pub advice: Option<String>,
}
