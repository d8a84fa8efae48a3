//! Implements [`Source`] for tables.

use crate::{
    block::{MadeOf, decode::unpacked},
    field::{ColumnForm, numbers},
    source::{TableSource, filter::Kept},
};
use infeed_core::{Cache, Dtype, Error, Hold, Record, Result, Source, Spec, parallel};
use std::sync::Arc;

impl Source for TableSource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.shard_rows
    }

    fn shard_of(&self, row: u64) -> String {
        self.lookup
            .find(row)
            .map_or_else(String::new, |(block, _)| self.shards[self.blocks[block].0].name().to_owned())
    }

    /// Returns the number of the row within its shard, before filtering.
    fn key(&self, row: u64) -> String {
        self.number(row).map_or_else(String::new, |(_, number)| number.to_string())
    }

    /// Cells that name files say nothing about these.
    fn stamps(&self, rows: &[u64], fields: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        let set = self.set(fields).ok()?;
        let files = |made: &Arc<MadeOf>| match &**made {
            MadeOf::Column { field, .. } => matches!(self.columns.fields[*field].how, ColumnForm::File),
            _ => false,
        };
        if self.stamps.is_empty() || self.stamps.contains(&None) || set.made.iter().any(files) {
            return None;
        }
        let stamp = |row: &u64| {
            let (shard, number) = self.number(*row)?;
            Some(self.stamps.get(shard).copied()??.number(number).get())
        };
        Some(rows.iter().map(stamp).collect())
    }

    fn row_bytes(&self, _row: u64, fields: &[Arc<str>]) -> u64 {
        fields.iter().filter_map(|name| self.spec.position(name)).map(|place| self.weights[place]).sum()
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let set = self.set(fields)?;
        let (blocks, places) = self.places(rows)?;
        let decoded = self.decoded(&blocks, &set)?;
        let record = |(slot, inside): &(u32, u32)| {
            let (block, row) = (*slot as usize, *inside as usize);
            decoded[block].sound(row)?;
            let value = |at| self.value(blocks[block], &decoded[block], row, &set, at);
            Ok(Record { fields: (0..fields.len()).map(value).collect::<Result<_>>()? })
        };
        places.iter().map(record).collect()
    }

    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let Some(field) = self.columns.fields.iter().position(|field| &*field.name == name) else {
            return Ok(None);
        };
        match self.columns.fields[field].how {
            ColumnForm::Number(dtype) if !dtype.is_float() => {}
            _ => return Ok(None),
        }
        let blocks = parallel::map(self.blocks.len(), parallel::cpus(), |block| {
            let array = self.part(block).columns(&[field])?;
            let array = unpacked(array[0].clone())?;
            let lane = numbers::lane(&array, &[], Dtype::I64, self.nulls)?;
            if let Some((row, why)) = lane.faults.first() {
                let row = self.lookup.start(block) + u64::from(*row);
                return Err(Error::argument(format!("row {row}: {}", why.words(name, Dtype::I64))));
            }
            Ok(lane.data.typed_data::<i64>().to_vec())
        })?;
        Ok(Some(blocks.concat()))
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        // Only a hint: errors are reported when the rows are fetched.
        if self.store.room_ahead().is_some() {
            let _ = self.set(fields).and_then(|set| self.announce(rows, &set));
        }
    }

    fn room_ahead(&self) -> Option<u64> {
        self.store.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.store.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.announced.hold().clear();
        self.store.forget_ahead();
    }

    fn caches(&self) -> Vec<&dyn Cache> {
        self.store.cache().into_iter().collect()
    }

    fn block_rows(&self) -> &[u64] {
        &self.block_rows
    }

    fn fills(&self, field: &str) -> bool {
        self.spec.position(field).is_some_and(|place| self.spec.fields[place].1.fixed_bytes().is_some())
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        let set = self.set(fields)?;
        let (blocks, places) = self.places(rows)?;
        let decoded = self.decoded(&blocks, &set)?;
        if decoded.iter().any(|block| !block.bad.is_empty()) {
            places.iter().try_for_each(|(slot, row)| decoded[*slot as usize].sound(*row as usize))?;
        }
        self.gather(&decoded, &places, &set, out)
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.cache.set_memory(bytes);
        self.limit.set(bytes);
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "{}: {} rows in {} blocks of {} files",
            self.kind,
            self.lookup.rows(),
            self.blocks.len(),
            self.shards.len()
        );
        if self.skipped > 0 {
            text += &format!("; {} blocks left out by their statistics", self.skipped);
        }
        text
    }
}

impl TableSource {
    /// The shard of a row, and its number there before filtering.
    fn number(&self, row: u64) -> Option<(usize, u64)> {
        let (block, inside) = self.lookup.find(row)?;
        let inside = match &self.kept[block] {
            Kept::All => inside as u64,
            Kept::Some(rows) => u64::from(rows[inside]),
        };
        Some((self.blocks[block].0, self.block_starts[block] + inside))
    }
}
