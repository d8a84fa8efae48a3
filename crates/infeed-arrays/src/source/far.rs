//! Which bytes rows need: for stores that are far away, caches, and disks that are told what comes.

use super::ArraySource;
use infeed_core::{Fetching, Hold, ReadCost, Result, joined};
use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    sync::Arc,
};

/// Ranges by object.
type Wanted = BTreeMap<usize, Vec<Range<u64>>>;

impl ArraySource {
    /// Calls `each` with the object and the bytes of these fields of rows. A block that several rows need is named once.
    pub(super) fn ranges(
        &self,
        rows: &[u64],
        fields: &[Arc<str>],
        each: &mut dyn FnMut(usize, Range<u64>),
    ) -> Result<()> {
        let places = self.places(fields)?;
        let mut seen = HashSet::new();
        for row in rows {
            let (part, inside) = self.find(*row)?;
            let object = self.parts[part].object;
            for field in &places {
                if let Some(dense) = self.dense(part, *field) {
                    let start = dense.at + inside * dense.bytes;
                    each(object, start..start + dense.bytes);
                    continue;
                }
                let array = &*self.parts[part].arrays[*field];
                let rows = match self.block_of(*row, *field) {
                    Some(block) if !seen.insert((block, *field)) => continue,
                    Some(block) => {
                        let first = self.blocks.starts[block].1;
                        first..first + self.blocks.rows.lens()[block]
                    }
                    None => inside..inside + 1,
                };
                let slab = self.slab(array, rows);
                let pieces = array.plan(&slab)?;
                for piece in 0..pieces.len() {
                    if let Some(range) = pieces.range(piece) {
                        each(object + pieces.object(piece), range);
                    }
                }
            }
        }
        Ok(())
    }

    /// The block of a row, if the field is decoded in blocks.
    pub(super) fn block_of(&self, row: u64, field: usize) -> Option<usize> {
        let banded = self.blocks.banded.get(field).copied().unwrap_or(false);
        banded.then(|| self.blocks.rows.find(row)).flatten().map(|(block, _)| block)
    }

    /// Announces these rows. Blocks that are decoded, or announced and not decoded yet, are not announced again.
    pub(super) fn announce(&self, rows: &[u64], fields: &[Arc<str>], whole: bool) -> Result<()> {
        let places = self.places(fields)?;
        let known = |row: &u64| {
            let decoded = |field: &usize| match self.block_of(*row, *field) {
                Some(block) => {
                    let key = (block, *field as u32);
                    self.cache.has(key) || self.announced.hold().contains(&key)
                }
                None => false,
            };
            !places.is_empty() && places.iter().all(decoded)
        };
        let mut wanted: Vec<u64> = rows.iter().copied().filter(|row| !known(row)).collect();
        if whole {
            // All rows of their blocks.
            let blocks: HashSet<usize> =
                wanted.iter().filter_map(|row| self.blocks.rows.find(*row)).map(|(block, _)| block).collect();
            let all = blocks.iter().filter_map(|block| self.blocks.rows.range(*block)).flatten();
            wanted.extend(all);
        }
        wanted.sort_unstable();
        wanted.dedup();
        let mut found = Wanted::new();
        self.ranges(&wanted, fields, &mut |object, range| found.entry(object).or_default().push(range))?;
        found.into_iter().for_each(|(object, ranges)| self.objects[object].will_read(&joined(ranges)));
        let mut announced = self.announced.hold();
        for row in &wanted {
            let keys = places.iter().filter_map(|field| Some((self.block_of(*row, *field)?, *field as u32)));
            announced.extend(keys);
        }
        Ok(())
    }

    /// What it costs to fetch these rows together.
    pub(super) fn cost(&self, rows: &[u64], fields: &[Arc<str>], fetching: Fetching) -> Result<ReadCost> {
        let places = self.places(fields)?;
        let mut cost = ReadCost::default();
        for row in rows {
            let (part, _) = self.find(*row)?;
            cost.used += places.iter().map(|field| self.width(part, *field)).sum::<u64>();
        }
        let mut all = rows.to_vec();
        if fetching == Fetching::Blocks {
            let blocks: HashSet<usize> =
                rows.iter().filter_map(|row| self.blocks.rows.find(*row)).map(|(block, _)| block).collect();
            all.extend(blocks.iter().filter_map(|block| self.blocks.rows.range(*block)).flatten());
        }
        all.sort_unstable();
        all.dedup();
        let mut found = Wanted::new();
        self.ranges(&all, fields, &mut |object, range| found.entry(object).or_default().push(range))?;
        for range in found.into_values().flat_map(joined) {
            cost.read += range.end.saturating_sub(range.start);
            cost.requests += 1;
        }
        Ok(cost)
    }
}
