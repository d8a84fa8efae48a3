//! Blocks of entries: read and decoded once, kept while they are needed.

use super::{RootSource, Run};
use crate::cells::{Cells, Memory, Work};
use infeed_core::{
    Error, Hold, Result,
    blocks::{Block, Spares},
};
use std::{
    cell::RefCell,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

thread_local! {
    static WORK: RefCell<Work> = RefCell::default();
}

/// A list of fields.
#[derive(Debug)]
pub(super) struct FieldSet {
    pub(super) names: Vec<Arc<str>>,
    /// Their numbers.
    pub(super) places: Vec<usize>,
    pub(super) number: u32,
    /// How many rows of each block were handed out, where blocks are let go once they all were.
    pub(super) served: Option<Vec<AtomicU64>>,
}

impl FieldSet {
    /// The keys of these fields of a block in the cache.
    pub(super) fn keys(&self, block: usize) -> impl Iterator<Item = (usize, u32)> {
        self.places.iter().map(move |place| (block, *place as u32))
    }
}

/// One field of a block.
#[derive(Debug)]
pub(super) struct Decoded(Cells);

impl Block for Decoded {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn give_back(self, spares: &Spares) {
        spares.give(self.0.buffer());
    }
}

/// Fields of blocks.
pub(super) struct DecodedBlocks {
    cells: Vec<Arc<Decoded>>,
    fields: usize,
}

impl DecodedBlocks {
    /// The entries of a field of a block; both are counted as they were asked for.
    pub(super) fn cells(&self, block: usize, field: usize) -> &Cells {
        &self.cells[block * self.fields + field].0
    }
}

impl RootSource {
    /// Returns fields of some blocks. Each is decoded once however many threads want it, and those who want the same blocks share
    /// the work field by field.
    pub(super) fn decode(&self, blocks: &[usize], set: &FieldSet) -> Result<DecodedBlocks> {
        let keys: Vec<(usize, u32)> = blocks.iter().flat_map(|block| set.keys(*block)).collect();
        let cells = self.cache.get(&keys, &|(block, place)| {
            self.announced.hold().remove(&(block, set.number));
            self.decode_one(block, place as usize)
        })?;
        Ok(DecodedBlocks { cells, fields: set.places.len() })
    }

    /// Counts rows that were handed out. A block goes when all of its rows were, if an epoch does not leave it in memory for the next:
    /// what is decoded then takes its memory, which is warm.
    pub(super) fn served(&self, set: &FieldSet, blocks: &[usize], runs: &[Run]) {
        let Some(served) = &set.served else { return };
        let mut counts = vec![0; blocks.len()];
        runs.iter().for_each(|run| counts[run.block] += run.count as u64);
        for (block, count) in blocks.iter().zip(counts) {
            let before = served[*block].fetch_add(count, Ordering::AcqRel);
            if before + count >= self.blocks.lens()[*block] {
                served[*block].store(0, Ordering::Release);
                self.cache.release(set.keys(*block));
            }
        }
    }

    /// The file of a block, its entries there, and the columns of a set.
    pub(super) fn block(&self, block: usize, places: &[usize]) -> (usize, Range<u64>, Vec<usize>) {
        let (part, first) = self.starts[block];
        let rows = first..first + self.blocks.lens()[block];
        let columns = places.iter().map(|place| self.parts[part].columns[*place]).collect();
        (part, rows, columns)
    }

    /// Reads and decodes a field of a block.
    fn decode_one(&self, block: usize, place: usize) -> Result<Decoded> {
        let (part, rows, columns) = self.block(block, &[place]);
        let part = &self.parts[part];
        let named = |error: crate::Error| match error {
            crate::Error::Unsupported(what) => Error::sample(format!("`{}`: {what}", part.bytes.shard.name)),
            other => other.of_file(&part.bytes.shard.name),
        };
        WORK.with_borrow_mut(|work| {
            let mut memory = Memory { spares: self.cache.spares(), work };
            part.tree.pieces.cells(&part.bytes, columns[0], &rows, &mut memory).map(Decoded).map_err(named)
        })
    }
}
