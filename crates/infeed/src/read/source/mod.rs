//! The rows of many shards as one source.

mod announce;
mod blocks;
mod cost;
mod one_by_one;
mod union;

use super::coalesce::{Limits, coalesce};
use blocks::Blocks;
use infeed_core::{
    Cache, Error, Fetching, Index, Indices, ReadCost, Record, Result, Shard, Shards, Source, Spec, Stamp,
    Store, format::Fields,
};
use one_by_one::OneByOne;
use std::{ops::Range, sync::Arc};
use union::union;

/// A store, its shards and the index of their rows.
#[derive(Debug)]
pub struct StoreSource {
    store: Arc<dyn Store>,
    format: String,
    shards: Shards,
    indices: Arc<dyn Indices>,
    spec: Spec,
    limits: Limits,
    /// The kind of network file system that the shards are on.
    network: Option<&'static str>,
    /// Rows that are fetched together because the store is far away; none for stores that are near.
    blocks: Blocks,
}

impl StoreSource {
    /// Joins the shards in the given order. `format` is the name used by [`Source::describe`]. Shards without rows are
    /// allowed, a source without rows is not.
    pub fn new(
        store: Arc<dyn Store>,
        format: impl Into<String>,
        shards: Vec<Shard>,
        indices: Vec<Arc<dyn Index>>,
    ) -> Result<Self> {
        Self::over(store, format, Shards::new(&shards)?, Arc::new(OneByOne::new(indices)))
    }

    /// Like [`StoreSource::new`], with indices that share their memory, for formats that have such.
    pub fn over(
        store: Arc<dyn Store>,
        format: impl Into<String>,
        shards: Shards,
        indices: Arc<dyn Indices>,
    ) -> Result<Self> {
        if shards.len() != indices.rows().len() {
            return Err(Error::Internal {
                what: format!("{} shards with {} indices", shards.len(), indices.rows().len()),
            });
        }
        if indices.rows().total() == 0 {
            let first = shards.name(0).map(|name| format!(" (the first is `{name}`)")).unwrap_or_default();
            return Err(Error::plan("read", format!("there are no rows in {} shards{first}", shards.len())));
        }
        let spec = union(&shards, &*indices)?;
        let blocks = match store.room_ahead() {
            Some(_) => Blocks::new(&shards, indices.rows())?,
            None => Blocks::default(),
        };
        // The first shard speaks for all: a data set is mostly in one place.
        let network = shards.name(0).and_then(|name| store.network(&name));
        let limits = if network.is_some() { Limits::NETWORK } else { Limits::default() };
        let format = format.into();
        Ok(StoreSource { store, format, shards, indices, spec, limits, network, blocks })
    }

    /// Sets the limits of joining reads.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The shards.
    pub fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Calls `what` with the index of a shard.
    fn ask<T>(&self, shard: usize, what: impl FnOnce(&dyn Index) -> Result<T>) -> Result<T> {
        let (mut what, mut answer) = (Some(what), None);
        self.indices.lend(shard, &mut |index| answer = what.take().map(|what| what(index)));
        answer.unwrap_or_else(|| Err(Error::Internal { what: format!("shard {shard} has no index") }))
    }

    /// Calls `what` with the index of the shard that holds a row. Returns the default for a row that does not exist.
    fn ask_row<T: Default>(&self, row: u64, what: impl FnOnce(&dyn Index, u64) -> T) -> T {
        let place = self.indices.rows().find(row);
        let ask = |(shard, row)| self.ask(shard, |index| Ok(what(index, row))).ok();
        place.and_then(ask).unwrap_or_default()
    }

    fn shard(&self, shard: usize) -> Result<Shard> {
        let lost = || Error::Internal { what: format!("there is no shard {shard}") };
        self.shards.get(shard).ok_or_else(lost)
    }

    /// Splits rows by shard and calls `each` with the shard, the indices of its rows in `rows`, and their numbers.
    fn by_shard(
        &self,
        rows: &[u64],
        mut each: impl FnMut(usize, &[usize], &[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        // Sorted, so that adjacent rows are read together, wherever they are in the batch.
        if !rows.is_sorted() {
            order.sort_unstable_by_key(|place| rows[*place]);
        }
        let mut local = Vec::new();
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let found = self.indices.rows().find(rows[*first]).map(|(shard, _)| shard);
            let Some((shard, within)) = found.and_then(|s| Some((s, self.indices.rows().range(s)?))) else {
                let total = self.rows();
                return Err(Error::argument(format!("there is no row {}: there are {total}", rows[*first])));
            };
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
        self.indices.rows().lens()
    }

    fn rows(&self) -> u64 {
        self.indices.rows().total()
    }

    fn shard_of(&self, row: u64) -> String {
        self.indices.rows().find(row).and_then(|(shard, _)| self.shards.name(shard)).unwrap_or_default()
    }

    fn stamps(&self, rows: &[u64], _: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        let mut last: Option<(usize, Option<Stamp>)> = None;
        let mut stamp = |row: &u64| {
            let (shard, row) = self.indices.rows().find(*row)?;
            let known = last.filter(|(known, _)| *known == shard);
            let (_, stamp) = *last.insert(
                known.unwrap_or_else(|| (shard, self.shards.get(shard).and_then(|shard| Stamp::of(&shard)))),
            );
            Some(stamp?.number(row).get())
        };
        let known = self.shards.modified(0).or(self.shards.version(0)).is_some();
        known.then(|| rows.iter().map(&mut stamp).collect())
    }

    fn key(&self, row: u64) -> String {
        self.ask_row(row, |index, row| index.key(row))
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        self.ask_row(row, |index, row| index.row_bytes(row, fields))
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let mut out = vec![Record::default(); rows.len()];
        self.by_shard(rows, |number, places, rows| {
            let shard = self.shard(number)?;
            let plan = coalesce(&self.ask(number, |index| index.ranges(rows, fields))?, self.limits);
            let read = plan.cut(&self.store.read(&shard, &plan.reads)?)?;
            let records = self
                .ask(number, |index| index.cut(rows, fields, read))
                .map_err(|e| e.of_object(&shard.name))?;
            if records.len() != places.len() {
                return Err(Error::Internal {
                    what: format!("{} rows of `{}` gave {} records", places.len(), shard.name, records.len()),
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
        // Only a hint: errors are reported when the rows are fetched.
        let _ = self.by_shard(rows, |shard, _, rows| {
            let plan = coalesce(&self.ask(shard, |index| index.ranges(rows, fields))?, self.limits);
            self.store.will_read(&self.shard(shard)?, &plan.reads);
            Ok(())
        });
    }

    fn will_fetch_blocks(&self, rows: &[u64], fields: &[Arc<str>]) {
        for (shard, block) in self.blocks.of(rows, self.indices.rows()) {
            // Only a hint: errors are reported when the rows are fetched.
            let _ = self.announce(shard, block, fields);
        }
    }

    fn read_cost(&self, rows: &[u64], fields: &[Arc<str>], fetching: Fetching) -> Option<ReadCost> {
        self.store.room_ahead().and_then(|_| self.cost(rows, fields, fetching).ok())
    }

    fn network(&self) -> Option<&'static str> {
        self.network
    }

    fn room_ahead(&self) -> Option<u64> {
        self.store.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.store.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.store.forget_ahead();
    }

    fn caches(&self) -> Vec<&dyn Cache> {
        self.store.cache().into_iter().collect()
    }

    fn objects(&self) -> Vec<Shard> {
        (0..self.shards.len()).filter_map(|shard| self.shards.get(shard)).collect()
    }

    fn bytes_of(&self, rows: &[u64], fields: &[Arc<str>], each: &mut dyn FnMut(usize, Range<u64>)) {
        let _ = self.by_shard(rows, |shard, _, rows| {
            let ranges = self.ask(shard, |index| index.ranges(rows, fields)).unwrap_or_default();
            ranges.into_iter().for_each(|bytes| each(shard, bytes));
            Ok(())
        });
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.store.set_memory(bytes);
    }

    fn block_rows(&self) -> &[u64] {
        self.blocks.rows()
    }

    /// Bytes of every row, all fields together: the index knows them.
    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        if name != "bytes" {
            return Ok(None);
        }
        let fields: Vec<Arc<str>> = self.spec.fields.iter().map(|(name, _)| Arc::clone(name)).collect();
        Ok(Some((0..self.rows()).map(|row| self.row_bytes(row, &fields) as i64).collect()))
    }

    fn fills(&self, field: &str) -> bool {
        self.indices.fills(field)
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        self.by_shard(rows, |number, places, rows| {
            let shard = self.shard(number)?;
            let plan = coalesce(&self.ask(number, |index| index.ranges(rows, fields))?, self.limits);
            let read = plan.cut(&self.store.read(&shard, &plan.reads)?)?;
            self.ask(number, |index| index.fill(rows, places, fields, read, out))
        })
    }

    fn fields_of_states(&self) -> Fields {
        let mut fields = self.spec.fields.clone();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        fields
    }

    fn damage(&self) -> Vec<String> {
        let name = |shard| self.shards.name(shard).unwrap_or_default();
        let noted = |(shard, what)| format!("shard `{}`: {what}", name(shard));
        self.indices.damage().into_iter().map(noted).collect()
    }

    fn describe(&self) -> String {
        let rows = self.rows();
        let fields: Vec<&str> = self.spec.fields.iter().map(|(name, _)| &**name).collect();
        let bytes: u64 = self.shards.sizes().iter().sum();
        format!(
            "{} of {rows} rows in {} shards ({:.2} GB); fields {}",
            self.format,
            self.shards.len(),
            bytes as f64 / 1e9,
            fields.join(", ")
        )
    }
}

#[cfg(test)]
mod tests;
