//! A finished batch.

use super::Lease;
use crate::order::Why;
use infeed_core::{Deferred, Dtype, Value};
use std::{collections::BTreeMap, sync::Arc};

/// One field of a batch.
#[derive(Debug, Clone)]
pub enum Column {
    /// One array over all samples, or beside such an array.
    Array {
        /// Element type.
        dtype: Dtype,
        /// Shape; the first dimension counts samples, unless they lie end to end in it or it says where they begin.
        shape: Vec<usize>,
        /// The memory; larger than the shape needs if samples were taken out.
        lease: Arc<Lease>,
    },
    /// One array over all samples, of images that a device completes.
    Deferred {
        /// Element type.
        dtype: Dtype,
        /// Shape; the first dimension counts samples.
        shape: Vec<usize>,
        /// The memory, where the samples that are made already have their place.
        lease: Arc<Lease>,
        /// One entry per sample; `None` where it is made already.
        images: Arc<[Option<Deferred>]>,
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
            Column::Deferred { .. } | Column::List(_) => None,
        }
    }
}

/// Many samples. Cheap to clone: the memory is shared.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Name and content of every field, in the order of the spec; then masks and offsets of fields.
    pub columns: Vec<(Arc<str>, Column)>,
    /// The epoch of its rows.
    pub epoch: u64,
    /// The row of each sample.
    pub rows: Vec<u64>,
    /// How many samples, at the end, are repeated rows that pad the batch.
    pub pads: usize,
    /// Samples that replace a bad one, by their index in the batch.
    pub replaced: Vec<usize>,
    /// Rows that belong to this batch but were left out.
    pub left_out: Vec<(u64, Why)>,
    /// Shard and key of each sample, if the rows came from a stream and cannot be looked up.
    pub names: Option<Names>,
}

/// Shard and key of rows.
pub type Names = Arc<[(Arc<str>, String)]>;

/// What became of a sample that is not in its batch as it is. All others were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Another row took its place.
    Replaced(u64),
    /// It could not be made.
    Bad,
    /// A filter dropped it.
    Filtered,
}

/// What became of such samples, by their places.
pub type Fates = BTreeMap<usize, Fate>;

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

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the rows that replace bad ones, except among the padding.
    pub fn stand_ins(&self) -> Vec<u64> {
        let real = self.rows.len() - self.pads;
        self.replaced.iter().filter(|at| **at < real).map(|at| self.rows[*at]).collect()
    }

    /// Returns a field.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| &**n == name).map(|(_, c)| c)
    }
}
