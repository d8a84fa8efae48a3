//! Which bytes boxes need: for stores that are far away, disks that are told what comes, and `explain()`.

use super::{BoxSource, Field};
use infeed_core::{Hold, ReadCost, Result, blocks::Key, joined};
use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    sync::Arc,
};

/// Rows that `explain()` looks at.
const SAMPLES: u64 = 8;

impl BoxSource {
    /// Calls `each` with the object and the bytes of these fields of rows, and returns how many bytes must be decoded or
    /// read for them. A chunk that several of them need is named once; those that `wanted` refuses are left out.
    pub(super) fn ranges(
        &self,
        rows: &[u64],
        fields: &[Arc<str>],
        wanted: &dyn Fn(Key) -> bool,
        each: &mut dyn FnMut(usize, Range<u64>),
    ) -> Result<u64> {
        let (places, mut seen, mut decoded) = (self.places(fields)?, HashSet::new(), 0);
        for row in rows {
            let place = self.place(*row)?;
            for field in &places {
                let Field::Values { variables, target } = &self.fields[*field] else { continue };
                let regions = |variable: &usize| {
                    let all = self.regions(&place, *variable, *target, (0, 1)).into_iter();
                    let variable = *variable;
                    all.map(move |(part, region)| (variable, part, region.slab))
                };
                for (variable, number, slab) in variables.iter().flat_map(regions) {
                    let part = &self.parts[number];
                    let array = &*part.arrays[variable];
                    let boxes = match self.touched(number, variable, &slab)? {
                        None => vec![slab],
                        Some(chunks) => chunks
                            .into_iter()
                            .filter(|(key, _)| seen.insert(*key) && wanted(*key))
                            .map(|(_, slab)| slab)
                            .collect(),
                    };
                    for slab in boxes {
                        decoded += slab.elements().saturating_mul(array.element().size() as u64);
                        let pieces = array.plan(&slab)?;
                        for piece in 0..pieces.len() {
                            if let Some(range) = pieces.range(piece) {
                                each(part.object + pieces.object(piece), range);
                            }
                        }
                    }
                }
            }
        }
        Ok(decoded)
    }

    /// Announces these rows. Chunks that are decoded, or announced and not decoded yet, are not announced again.
    pub(super) fn announce(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<()> {
        let new = |key: Key| !self.cache.has(key) && self.announced.hold().insert(key);
        let mut found: BTreeMap<usize, Vec<Range<u64>>> = BTreeMap::new();
        self.ranges(rows, fields, &new, &mut |object, range| found.entry(object).or_default().push(range))?;
        found.into_iter().for_each(|(object, ranges)| self.objects[object].will_read(&joined(ranges)));
        Ok(())
    }

    /// What it costs to fetch these rows together.
    pub(super) fn cost(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<ReadCost> {
        let used = rows.iter().map(|row| infeed_core::Source::row_bytes(self, *row, fields)).sum();
        let mut cost = ReadCost { used, ..ReadCost::default() };
        let mut found: BTreeMap<usize, Vec<Range<u64>>> = BTreeMap::new();
        let every = |object, range| found.entry(object).or_default().push(range);
        self.ranges(rows, fields, &|_| true, &mut { every })?;
        for range in found.into_values().flat_map(joined) {
            cost.read += range.end.saturating_sub(range.start);
            cost.requests += 1;
        }
        Ok(cost)
    }

    /// What `explain()` says.
    pub(super) fn described(&self) -> String {
        let names: Vec<&str> = self.spec.fields.iter().map(|(name, _)| &**name).collect();
        let bytes: u64 = self.objects.iter().map(|object| object.size()).sum();
        let mut text = format!(
            "{} of {} boxes in {} files ({:.2} GB)",
            self.kind,
            self.rows.total(),
            self.shard_rows.len(),
            bytes as f64 / 1e9
        );
        match (&self.form.windows, self.axis) {
            (Some(windows), Some(axis)) => {
                text += &format!(", windows of {} steps, one every {}", windows.length, windows.stride);
                if windows.horizon > 0 {
                    text += &format!(", targets of {} steps, {} behind", windows.horizon, windows.gap);
                }
                text += &format!(", along axis {axis}");
            }
            (_, Some(axis)) => text += &format!(", steps along axis {axis}"),
            _ => text += ", whole arrays",
        }
        if let Some(patches) = &self.form.patches {
            text += &match patches.drawn {
                Some((count, seed)) => {
                    format!(", {count} patches of {:?} each at random (seed {seed})", patches.size)
                }
                None => format!(", patches of {:?} every {:?}", patches.size, patches.stride),
            };
        }
        text += &format!("; fields {}", names.join(", "));
        if !self.blocks.is_empty() {
            text += &format!("; {} blocks", self.blocks.len());
        }
        text + &self.said().unwrap_or_default() + &self.notes
    }

    /// Bytes that are read and decoded for each byte of some rows, each read alone.
    fn said(&self) -> Option<String> {
        let read = |(_, field): &(_, &Field)| **field != Field::Origin;
        let fields = self.spec.fields.iter().zip(&self.fields).filter(read);
        let fields: Vec<Arc<str>> = fields.map(|((name, _), _)| Arc::clone(name)).collect();
        let total = self.rows.total();
        let (mut used, mut read, mut decoded) = (0u64, 0u64, 0u64);
        for n in 0..SAMPLES.min(total) {
            // In the middle of equal shares.
            let row =
                ((u128::from(total) * (2 * u128::from(n) + 1)) / u128::from(2 * SAMPLES.min(total))) as u64;
            let cost = self.cost(&[row], &fields).ok()?;
            used += cost.used;
            read += cost.read;
            decoded += self.ranges(&[row], &fields, &|_| true, &mut |_, _| ()).ok()?;
        }
        let each = |bytes: u64| bytes as f64 / used.max(1) as f64;
        Some(format!(
            "; a byte of a row alone takes {:.2} bytes of files and {:.2} bytes decoded",
            each(read),
            each(decoded)
        ))
    }
}
