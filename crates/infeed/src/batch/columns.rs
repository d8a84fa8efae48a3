//! A finished batch.

use super::Lease;
use crate::order::Why;
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
    /// The epoch of its rows.
    pub epoch: u64,
    /// The row of each sample.
    pub rows: Vec<u64>,
    /// How many samples, at the end, are given a second time to fill the batch up.
    pub pads: usize,
    /// Samples that stand in for a bad one, by their place in the batch.
    pub replaced: Vec<usize>,
    /// Rows that should be here and are not.
    pub left_out: Vec<(u64, Why)>,
    /// Shard and key of each sample, when the rows came by in a stream and nobody can look them up.
    pub names: Option<Names>,
}

/// Shard and key of rows.
pub type Names = Arc<[(Arc<str>, String)]>;

/// What became of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is in the batch.
    Made,
    /// Another row took its place.
    Replaced(u64),
    /// It could not be made.
    Bad,
    /// A filter did not want it.
    Filtered,
}

impl Batch {
    /// A batch without samples and fields.
    pub fn empty() -> Self {
        Batch {
            columns: vec![],
            epoch: 0,
            rows: vec![],
            pads: 0,
            replaced: vec![],
            left_out: vec![],
            names: None,
        }
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether every sample was taken out.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that stand in for bad ones, without those that are there a second time anyway.
    pub fn stand_ins(&self) -> Vec<u64> {
        let real = self.rows.len() - self.pads;
        self.replaced.iter().filter(|at| **at < real).map(|at| self.rows[*at]).collect()
    }

    /// A field.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| &**n == name).map(|(_, c)| c)
    }
}
