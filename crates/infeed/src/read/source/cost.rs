//! What it costs to fetch rows of a store that is far away.

use super::{StoreSource, announce::SPARSE};
use crate::read::coalesce::{Limits, coalesce};
use infeed_core::{Fetching, ReadCost, Result};
use std::{ops::Range, sync::Arc};

/// How stores that are far away join ranges: a request costs as much as some bytes that nobody wants.
const FAR: Limits = Limits { gap: 256 << 10, most: 8 << 20 };

impl StoreSource {
    /// Adds up what these rows cost.
    pub(super) fn cost(&self, rows: &[u64], fields: &[Arc<str>], fetching: Fetching) -> Result<ReadCost> {
        let mut cost = ReadCost::default();
        match fetching {
            Fetching::Rows => self.by_shard(rows, |shard, _, rows| {
                let ranges = self.ask(shard, |index| index.ranges(rows, fields))?;
                add(&mut cost, &ranges, &coalesce(&ranges, FAR).reads);
                Ok(())
            })?,
            Fetching::Blocks => {
                for (shard, block) in self.blocks.of(rows, self.indices.rows()) {
                    let rows: Vec<u64> = block.collect();
                    let ranges = self.ask(shard, |index| index.ranges(&rows, fields))?;
                    let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
                    let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
                    let used: u64 = ranges.iter().map(|range| range.end - range.start).sum();
                    if used < (end - start) / SPARSE {
                        add(&mut cost, &ranges, &coalesce(&ranges, FAR).reads);
                    } else {
                        add(&mut cost, &ranges, std::slice::from_ref(&(start..end)));
                    }
                }
            }
        }
        Ok(cost)
    }
}

fn add(cost: &mut ReadCost, used: &[Range<u64>], read: &[Range<u64>]) {
    let sum = |ranges: &[Range<u64>]| ranges.iter().map(|range| range.end - range.start).sum::<u64>();
    cost.used += sum(used);
    cost.read += sum(read);
    cost.requests += read.len() as u64;
}
