//! Blocks of entries: read and decoded once, kept while they are needed.

use super::RootSource;
use crate::{
    basket::Scratch,
    bytes::FileBytes,
    cells::Cells,
    decode::{Need, decode, needs},
};
use infeed_core::{
    Error, Hold, Result,
    blocks::{Block, Spares},
};
use std::{cell::RefCell, ops::Range, sync::Arc};

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A list of fields.
#[derive(Debug)]
pub(super) struct FieldSet {
    pub(super) names: Vec<Arc<str>>,
    /// Their numbers.
    pub(super) places: Vec<usize>,
    pub(super) number: u32,
}

/// Some fields of a block.
#[derive(Debug)]
pub(super) struct Decoded {
    cells: Vec<Cells>,
    bytes: u64,
}

impl Block for Decoded {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn give_back(self, spares: &Spares) {
        self.cells.into_iter().for_each(|cells| spares.give(cells.buffer()));
    }
}

impl Decoded {
    /// The entries of a field of the set.
    pub(super) fn cells(&self, field: usize) -> &Cells {
        &self.cells[field]
    }
}

impl RootSource {
    /// Returns some blocks, each decoded once however many threads want it.
    pub(super) fn decode(&self, blocks: &[usize], set: &FieldSet) -> Result<Vec<Arc<Decoded>>> {
        let keys: Vec<(usize, u32)> = blocks.iter().map(|block| (*block, set.number)).collect();
        self.cache.get(&keys, &|(block, number)| {
            self.announced.hold().remove(&(block, number));
            self.decode_one(block, set)
        })
    }

    /// The file of a block, its entries there, and the columns of a set.
    pub(super) fn block(&self, block: usize, set: &FieldSet) -> (usize, Range<u64>, Vec<usize>) {
        let (part, first) = self.starts[block];
        let rows = first..first + self.blocks.lens()[block];
        let columns = set.places.iter().map(|place| self.parts[part].columns[*place]).collect();
        (part, rows, columns)
    }

    /// Reads all baskets of a block at once, and decodes them.
    fn decode_one(&self, block: usize, set: &FieldSet) -> Result<Decoded> {
        let (part, rows, columns) = self.block(block, set);
        let part = &self.parts[part];
        let named = |error: crate::Error| match error {
            crate::Error::Unsupported(what) => Error::sample(format!("`{}`: {what}", part.bytes.shard.name)),
            other => other.of_file(&part.bytes.shard.name),
        };
        let needs: Vec<Need> = needs(&part.tree, &columns, &rows);
        let ranges: Vec<Range<u64>> = needs.iter().filter_map(|need| need.range(&part.tree)).collect();
        let stored = part.bytes.read(&ranges).map_err(named)?;
        let spares = self.cache.spares();
        let cells = SCRATCH.with_borrow_mut(|scratch| {
            decode(&part.tree, &columns, &rows, (&needs, &stored), (spares, scratch)).map_err(named)
        })?;
        let bytes = cells.iter().map(Cells::bytes).sum();
        Ok(Decoded { cells, bytes })
    }
}
