//! Trees of many files as one source.
//!
//! `build` checks that the files go together and settles fields, rows and blocks. `blocks` decodes and keeps blocks. `reading` implements
//! the source for the engine. `far` says which bytes rows need.

mod blocks;
mod build;
mod far;
mod reading;

use crate::{bytes::Stored, table::Table};
use blocks::{Decoded, FieldSet};
use infeed_core::{Error, Hold, Result, Spec, Stamp, Store, Sums, blocks::BlockCache};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, atomic::AtomicU64},
};

/// Blocks, each once, and the rows in the order in which they were asked for, as runs.
type Places = (Vec<usize>, Vec<Run>);

/// Rows that follow each other in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// The place of the block in the list.
    block: usize,
    /// The first row, counted in the block, and how many.
    first: usize,
    count: usize,
}

/// The tree of one file.
#[derive(Debug)]
pub(crate) struct TreeFile {
    pub(crate) bytes: Stored,
    pub(crate) tree: Table,
}

/// One file of a source.
#[derive(Debug)]
struct Part {
    bytes: Stored,
    tree: Table,
    /// The column of each field.
    columns: Vec<usize>,
    stamp: Option<Stamp>,
}

/// Entries of trees, by number.
#[derive(Debug)]
pub struct RootSource {
    store: Arc<dyn Store>,
    parts: Vec<Part>,
    spec: Spec,
    /// Rows of each file.
    rows: Sums<u64>,
    /// Rows of each block.
    blocks: Sums<u64>,
    /// File and first entry of each block.
    starts: Vec<(usize, u64)>,
    /// How many blocks may be mixed at a time.
    mixed: Option<u64>,
    /// About how many bytes a row of each field has.
    weights: Vec<u64>,
    /// Lists of fields that were asked for.
    sets: Mutex<Vec<Arc<FieldSet>>>,
    cache: BlockCache<Decoded>,
    /// Blocks that were announced to a store that is far away, and not read yet.
    announced: Mutex<HashSet<(usize, u32)>>,
    /// What was left out.
    notes: String,
}

impl RootSource {
    /// Returns how many blocks were decoded since the source was opened.
    pub fn decoded(&self) -> u64 {
        self.cache.decoded()
    }

    /// Returns the set of these fields; the same set for the same names.
    fn set(&self, names: &[Arc<str>]) -> Result<Arc<FieldSet>> {
        let mut sets = self.sets.hold();
        if let Some(set) = sets.iter().find(|set| set.names == names) {
            return Ok(Arc::clone(set));
        }
        let places = names.iter().map(|name| self.spec.require(name, "read")).collect::<Result<Vec<_>>>()?;
        let row: u64 = places.iter().map(|place| self.weights[*place]).sum();
        let served = self.cache.overflows(row.saturating_mul(self.rows.total())).then(|| {
            let none = || AtomicU64::new(0);
            std::iter::repeat_with(none).take(self.blocks.len()).collect()
        });
        let set = Arc::new(FieldSet { names: names.to_vec(), places, number: sets.len() as u32, served });
        sets.push(Arc::clone(&set));
        Ok(set)
    }

    /// Locates rows.
    fn places(&self, rows: &[u64]) -> Result<Places> {
        let mut blocks = Vec::new();
        // Zero means not seen yet.
        let mut seen = vec![0u32; self.blocks.len()];
        let mut runs: Vec<Run> = Vec::new();
        let mut rest = rows;
        while let Some(row) = rest.first() {
            let lost = || Error::argument(format!("there is no row {row}: there are {}", self.rows.total()));
            let (block, inside) = self.blocks.find(*row).ok_or_else(lost)?;
            if seen[block] == 0 {
                blocks.push(block);
                seen[block] = blocks.len() as u32;
            }
            // Rows that follow each other, up to the end of the block.
            let end = row - inside + self.blocks.lens()[block];
            let count = rest.iter().zip(*row..end).take_while(|(own, next)| **own == *next).count();
            runs.push(Run { block: seen[block] as usize - 1, first: inside as usize, count });
            rest = &rest[count..];
        }
        Ok((blocks, runs))
    }
}
