//! Rows of many shards as one list of rows.

use super::coalesce::{Limits, coalesce};
use infeed_core::{Error, FieldSpec, Index, Record, Result, Shard, Source, Spec, Store};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// A store, its shards and where the rows lie in them.
#[derive(Debug)]
pub struct StoreSource {
    store: Arc<dyn Store>,
    format: String,
    shards: Vec<Shard>,
    indices: Vec<Arc<dyn Index>>,
    /// The first row of each shard, and one more for the end.
    starts: Vec<u64>,
    rows: Vec<u64>,
    spec: Spec,
    limits: Limits,
}

impl StoreSource {
    /// Joins the shards in the given order. `format` is what [`Source::describe`] calls them. Shards without rows are
    /// allowed, a source without rows is not.
    pub fn new(
        store: Arc<dyn Store>,
        format: impl Into<String>,
        shards: Vec<Shard>,
        indices: Vec<Arc<dyn Index>>,
    ) -> Result<Self> {
        if shards.len() != indices.len() {
            return Err(Error::Internal {
                what: format!("{} shards with {} indices", shards.len(), indices.len()),
            });
        }
        let rows: Vec<u64> = indices.iter().map(|index| index.rows()).collect();
        let mut starts = vec![0];
        starts.extend(rows.iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        }));
        if starts.last() == Some(&0) {
            let first = shards.first().map(|s| format!(" (the first is `{}`)", s.name)).unwrap_or_default();
            return Err(Error::plan("read", format!("there are no rows in {} shards{first}", shards.len())));
        }
        let spec = union(&shards, &indices)?;
        Ok(StoreSource {
            store,
            format: format.into(),
            shards,
            indices,
            starts,
            rows,
            spec,
            limits: Limits::default(),
        })
    }

    /// The same source with other limits of joining reads.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The shards.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The shard that holds a row, and the row's number in it.
    fn place(&self, row: u64) -> Option<(usize, u64)> {
        // The last shard that starts at or before the row: empty shards share their start with the one after them.
        let shard = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        (shard < self.shards.len()).then(|| (shard, row - self.starts[shard]))
    }

    /// Splits rows by shard and calls `each` with the shard, the places of its rows in `rows`, and their numbers.
    fn by_shard(
        &self,
        rows: &[u64],
        mut each: impl FnMut(usize, &[usize], &[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        // Sorted so that rows which lie side by side are read together, wherever they stand in the batch.
        if !rows.is_sorted() {
            order.sort_unstable_by_key(|place| rows[*place]);
        }
        let mut local = Vec::new();
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let Some((shard, _)) = self.place(rows[*first]) else {
                let total = self.starts.last().copied().unwrap_or(0);
                return Err(Error::argument(format!("there is no row {}: there are {total}", rows[*first])));
            };
            let within: Range<u64> = self.starts[shard]..self.starts[shard + 1];
            let (mine, others) = rest.split_at(rest.partition_point(|place| rows[*place] < within.end));
            local.clear();
            local.extend(mine.iter().map(|place| rows[*place] - within.start));
            each(shard, mine, &local)?;
            rest = others;
        }
        Ok(())
    }
}

impl Source for StoreSource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.rows
    }

    fn shard_of(&self, row: u64) -> String {
        self.place(row).map(|(shard, _)| self.shards[shard].name.to_string()).unwrap_or_default()
    }

    fn key(&self, row: u64) -> String {
        self.place(row).map(|(shard, row)| self.indices[shard].key(row)).unwrap_or_default()
    }

    fn weight(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        self.place(row).map_or(0, |(shard, row)| self.indices[shard].weight(row, fields))
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let mut out = vec![Record::default(); rows.len()];
        self.by_shard(rows, |shard, places, rows| {
            let index = &self.indices[shard];
            let plan = coalesce(&index.ranges(rows, fields)?, self.limits);
            let read = self.store.read(&self.shards[shard], &plan.reads)?;
            let records = index.cut(rows, fields, plan.cut(&read)?)?;
            if records.len() != places.len() {
                return Err(Error::Internal {
                    what: format!(
                        "{} rows of `{}` gave {} records",
                        places.len(),
                        self.shards[shard].name,
                        records.len()
                    ),
                });
            }
            for (place, record) in places.iter().zip(records) {
                out[*place] = record;
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        // A hint: what is wrong with these rows is reported when they are fetched.
        let _ = self.by_shard(rows, |shard, _, rows| {
            let plan = coalesce(&self.indices[shard].ranges(rows, fields)?, self.limits);
            self.store.will_read(&self.shards[shard], &plan.reads);
            Ok(())
        });
    }

    fn damage(&self) -> Vec<String> {
        let noted = |(shard, index): (&Shard, &Arc<dyn Index>)| -> Vec<String> {
            index.damage().iter().map(|what| format!("shard `{}`: {what}", shard.name)).collect()
        };
        self.shards.iter().zip(&self.indices).flat_map(noted).collect()
    }

    fn describe(&self) -> String {
        let rows = self.starts.last().copied().unwrap_or(0);
        let fields: Vec<&str> = self.spec.fields.iter().map(|(name, _)| &**name).collect();
        let bytes: u64 = self.shards.iter().map(|s| s.size).sum();
        format!(
            "{} of {rows} rows in {} shards ({:.2} GB); fields {}",
            self.format,
            self.shards.len(),
            bytes as f64 / 1e9,
            fields.join(", ")
        )
    }
}

/// The fields of all shards, sorted by name so that the order does not depend on which shard comes first.
fn union(shards: &[Shard], indices: &[Arc<dyn Index>]) -> Result<Spec> {
    let mut seen: BTreeMap<Arc<str>, (FieldSpec, usize)> = BTreeMap::new();
    for (shard, index) in indices.iter().enumerate() {
        for (name, spec) in index.fields() {
            let (first, origin) = seen.entry(Arc::clone(&name)).or_insert_with(|| (spec.clone(), shard));
            if *first != spec {
                let (a, b) = (&shards[*origin].name, &shards[shard].name);
                return Err(Error::plan(
                    "read",
                    format!("the field `{name}` is {first} in shard `{a}` but {spec} in shard `{b}`"),
                ));
            }
        }
    }
    Ok(Spec { fields: seen.into_iter().map(|(name, (spec, _))| (name, spec)).collect() })
}

#[cfg(test)]
mod tests;
