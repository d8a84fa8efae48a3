//! Blocks of rows: decoded once, kept while they are needed, and rows copied out of them.

use super::{ArraySource, axis_of};
use crate::shared::fill_shared;
use infeed_core::{
    Error, Hold, Result,
    blocks::{Block, Spares},
};
use std::sync::Arc;

/// One field of a block, in C order with all rows of the block along the axis.
#[derive(Debug)]
pub(super) struct Band {
    memory: Vec<u8>,
    /// How often the rows come again: the elements before the axis.
    outer: usize,
    rows: usize,
    /// Bytes of a row that lie together.
    inner: usize,
}

impl Block for Band {
    fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }

    fn give_back(self, spares: &Spares) {
        spares.give(self.memory);
    }
}

impl Band {
    /// Copies one row.
    pub(super) fn row(&self, row: usize, out: &mut [u8]) -> Result<()> {
        let lost = || Error::Internal { what: "a row outside of its block".to_owned() };
        for (outer, out) in (0..self.outer).zip(out.chunks_exact_mut(self.inner.max(1))) {
            let from = (outer * self.rows + row) * self.inner;
            out.copy_from_slice(self.memory.get(from..from + self.inner).ok_or_else(lost)?);
        }
        Ok(())
    }
}

impl ArraySource {
    /// Returns a field of some blocks, each decoded once however many threads want it.
    pub(super) fn bands(&self, blocks: &[usize], field: usize) -> Result<Vec<Arc<Band>>> {
        let keys: Vec<(usize, u32)> = blocks.iter().map(|block| (*block, field as u32)).collect();
        self.cache.get(&keys, &|(block, field)| {
            self.announced.hold().remove(&(block, field));
            self.decode(block, field as usize)
        })
    }

    fn decode(&self, block: usize, field: usize) -> Result<Band> {
        let (part, first) = self.blocks.starts[block];
        let rows = self.blocks.rows.lens()[block];
        let part = &self.parts[part];
        let array = &*part.arrays[field];
        let slab = self.slab(array, first..first + rows);
        let size = array.element().size();
        let bytes = slab.elements().saturating_mul(size as u64);
        let bytes = usize::try_from(bytes).map_err(|_| Error::sample("a block larger than all memory"))?;
        let mut memory = self.cache.spares().take(bytes)?;
        fill_shared(&self.objects[part.object..], array, &slab, &mut memory)
            .map_err(|e| e.in_field(&self.spec.fields[field].0))?;
        let axis = axis_of(self.axis, array.shape().len()).unwrap_or(0);
        let side = |range: &[u64]| range.iter().product::<u64>() as usize;
        let (outer, inner) = (side(&array.shape()[..axis]), side(&array.shape()[axis + 1..]) * size);
        Ok(Band { memory, outer, rows: rows as usize, inner })
    }
}
