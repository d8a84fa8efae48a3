//! Decoded blocks: rows for fields of a fixed shape, Arrow columns for the others.
//!
//! `decode` makes one of a block of a shard, in the memory of `memory` and with columns of `recycle`; `cache` keeps it;
//! `gather` puts its rows into batches.

pub(crate) mod cache;
pub(crate) mod decode;
mod gather;
pub(crate) mod memory;
pub(crate) mod recycle;

use crate::{
    field::{loose::Filling, numbers::Fault, ops::Op},
    shard::BadRow,
};
use arrow_array::ArrayRef;
use infeed_core::{Dtype, Error, Result};
use std::sync::Arc;

/// What a field of the source is made of.
#[derive(Debug)]
pub(crate) enum MadeOf {
    /// One column.
    Column {
        /// Its number among the fields of the table.
        field: usize,
        /// For nulls.
        fill: Option<Filling>,
    },
    /// Many columns, each with its operations.
    Matrix { dtype: Dtype, columns: Vec<(usize, Vec<Op>)> },
}

/// The fields that are asked for together, and how they lie in memory.
#[derive(Debug)]
pub(crate) struct FieldSet {
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) made: Vec<Arc<MadeOf>>,
    pub(crate) number: u32,
}

/// A decoded block.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) stride: usize,
    pub(crate) memory: Vec<u8>,
    /// One per field of the set.
    pub(crate) cells: Vec<Cells>,
    /// Rows that make no sense, ascending.
    pub(crate) bad: Vec<BadRow>,
    /// How much memory it takes.
    pub(crate) bytes: u64,
}

/// The cells of one field.
#[derive(Debug)]
pub(crate) enum Cells {
    Packed {
        offset: usize,
        width: usize,
        /// Rows without a number, ascending, with the column of the field that is to blame.
        faults: Vec<(u32, u32, Fault)>,
    },
    Loose(ArrayRef),
}

impl Decoded {
    /// An error when the row makes no sense.
    #[inline]
    pub(crate) fn sound(&self, row: usize) -> Result<()> {
        if self.bad.is_empty() {
            return Ok(());
        }
        match self.bad.binary_search_by_key(&(row as u32), |bad| bad.0) {
            Ok(at) => Err(Error::sample(self.bad[at].1.clone())),
            Err(_) => Ok(()),
        }
    }

    /// The bytes of a packed cell.
    #[inline]
    pub(crate) fn cell(&self, row: usize, offset: usize, width: usize) -> &[u8] {
        &self.memory[row * self.stride + offset..][..width]
    }
}

/// Finds what is wrong with a row.
pub(crate) fn fault(faults: &[(u32, u32, Fault)], row: usize) -> Option<(u32, Fault)> {
    let at = faults.binary_search_by_key(&(row as u32), |fault| fault.0).ok()?;
    Some((faults[at].1, faults[at].2))
}
