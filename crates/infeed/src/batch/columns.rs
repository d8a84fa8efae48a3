//! A finished batch.

use super::Lease;
use infeed_core::{Dtype, Value};
use std::sync::Arc;

/// One field of a batch.
#[derive(Debug, Clone)]
pub enum Column {
    /// One array over all samples.
    Array {
        /// Element type.
        dtype: Dtype,
        /// Shape; the first dimension counts samples.
        shape: Vec<usize>,
        /// The memory; it may be larger than the shape needs when samples were taken out.
        lease: Arc<Lease>,
    },
    /// One value per sample.
    List(Vec<Value>),
}

impl Column {
    /// The bytes of an array.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Column::Array { dtype, shape, lease } => {
                lease.bytes().get(..shape.iter().product::<usize>() * dtype.size())
            }
            Column::List(_) => None,
        }
    }
}

/// Many samples. Cheap to clone: the memory is shared.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Name and content of every field.
    pub columns: Vec<(Arc<str>, Column)>,
    /// The row of each sample.
    pub rows: Vec<u64>,
}

impl Batch {
    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether every sample was taken out.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A field.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| &**n == name).map(|(_, c)| c)
    }
}
