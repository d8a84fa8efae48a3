//! Decoded blocks: packed rows for fields of a fixed shape, Arrow columns for the others.
//!
//! `decode` decodes a block of a shard, into buffers from `memory` and with columns from `recycle`. The cache
//! of `infeed-core` keeps it. `gather` copies its rows into batches.

pub(crate) mod decode;
mod gather;
pub(crate) mod memory;
pub(crate) mod recycle;

use crate::{
    field::{loose::Filling, numbers::Fault, ops::Op},
    shard::BadRow,
};
use arrow_array::ArrayRef;
use infeed_core::{
    Dtype, Error, Result,
    blocks::{Block, Spares},
};
use std::sync::Arc;

/// The origin of a field of the source.
#[derive(Debug)]
pub(crate) enum MadeOf {
    /// One column.
    Column {
        /// Its index among the fields of the table.
        field: usize,
        /// The fill value for nulls.
        fill: Option<Filling>,
    },
    /// Many columns, each with its operations.
    Matrix { dtype: Dtype, columns: Vec<(usize, Vec<Op>)> },
}

/// The fields that are requested together, and their layout in memory.
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
    /// Invalid rows, ascending.
    pub(crate) bad: Vec<BadRow>,
    /// Its size in memory.
    pub(crate) bytes: u64,
}

/// The cells of one field.
#[derive(Debug)]
pub(crate) enum Cells {
    Packed {
        offset: usize,
        width: usize,
        /// Rows without a number, ascending, with the offending column of the field.
        faults: Vec<(u32, u32, Fault)>,
    },
    Loose(ArrayRef),
}

impl Block for Decoded {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn give_back(self, spares: &Spares) {
        spares.give(self.memory);
    }
}

impl Decoded {
    /// Fails if the row is invalid.
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

/// Returns what is wrong with a row, if anything.
pub(crate) fn fault(faults: &[(u32, u32, Fault)], row: usize) -> Option<(u32, Fault)> {
    let at = faults.binary_search_by_key(&(row as u32), |fault| fault.0).ok()?;
    Some((faults[at].1, faults[at].2))
}
