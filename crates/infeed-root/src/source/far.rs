//! Which bytes rows need: for announcements, caches and costs.

use super::RootSource;
use infeed_core::{Hold, ReadCost, Result, joined};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

impl RootSource {
    /// Calls `each` with the bytes of the blocks of these rows, and the number of their file.
    pub(super) fn ranges(
        &self,
        rows: &[u64],
        fields: &[Arc<str>],
        each: &mut dyn FnMut(usize, Range<u64>),
    ) -> Result<()> {
        let set = self.set(fields)?;
        for block in self.places(rows)?.0 {
            let (part, rows, columns) = self.block(block, &set.places);
            let ranges = self.parts[part].tree.pieces.ranges(&columns, &rows);
            ranges.into_iter().for_each(|range| each(part, range));
        }
        Ok(())
    }

    /// Announces the blocks of these rows. Those that are decoded, or announced and not decoded yet, are not announced again.
    pub(super) fn announce(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<()> {
        let set = self.set(fields)?;
        for block in self.places(rows)?.0 {
            let key = (block, set.number);
            let decoded = set.keys(block).all(|key| self.cache.has(key));
            if decoded || !self.announced.hold().insert(key) {
                continue;
            }
            let (part, rows, columns) = self.block(block, &set.places);
            let part = &self.parts[part];
            let ranges = part.tree.pieces.ranges(&columns, &rows);
            self.store.will_read(&part.bytes.shard, &joined(ranges));
        }
        Ok(())
    }

    /// What it costs to fetch these rows together.
    pub(super) fn cost(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<ReadCost> {
        let mut found: BTreeMap<usize, Vec<Range<u64>>> = BTreeMap::new();
        self.ranges(rows, fields, &mut |part, range| found.entry(part).or_default().push(range))?;
        let weight: u64 =
            fields.iter().filter_map(|name| self.spec.position(name)).map(|field| self.weights[field]).sum();
        let mut cost = ReadCost { used: weight.saturating_mul(rows.len() as u64), ..ReadCost::default() };
        for range in found.into_values().flat_map(joined) {
            cost.read += range.end - range.start;
            cost.requests += 1;
        }
        Ok(cost)
    }
}
