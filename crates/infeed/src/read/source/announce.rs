//! Announcing blocks of rows to stores that are far away.

use super::StoreSource;
use crate::read::coalesce::coalesce;
use infeed_core::Result;
use std::{ops::Range, sync::Arc};

/// A block is announced row by row if less than one byte in this many is wanted.
pub(super) const SPARSE: u64 = 4;

impl StoreSource {
    /// Announces the bytes of a block, from its first row to the first of the next block: rows of both may be read together, with
    /// what lies between them.
    pub(super) fn announce(&self, shard: usize, block: Range<u64>, fields: &[Arc<str>]) -> Result<()> {
        let count = self.indices.rows().lens()[shard];
        let (span, wanted) = self.ask(shard, |index| {
            let ends = index.ranges(&[block.start, block.end - 1], fields)?;
            let start = ends.iter().map(|range| range.start).min().unwrap_or(0);
            let end = ends.iter().map(|range| range.end).max().unwrap_or(0);
            let next = match block.end < count {
                true => {
                    index.ranges(&[block.end], fields)?.iter().map(|range| range.start).min().unwrap_or(end)
                }
                false => end,
            };
            let end = if (end..=end.saturating_add(self.limits.gap)).contains(&next) { next } else { end };
            let wanted = index.row_bytes(block.start, fields).saturating_mul(block.end - block.start);
            Ok((start..end, wanted))
        })?;
        if wanted < (span.end - span.start) / SPARSE {
            // A small field of large rows: the bytes between are not worth it.
            let rows: Vec<u64> = block.collect();
            let ranges = self.ask(shard, |index| index.ranges(&rows, fields))?;
            self.store.will_read(&self.shard(shard)?, &coalesce(&ranges, self.limits).reads);
        } else {
            self.store.will_read(&self.shard(shard)?, std::slice::from_ref(&span));
        }
        Ok(())
    }
}
