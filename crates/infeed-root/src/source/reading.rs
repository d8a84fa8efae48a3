//! Implements [`Source`] for trees.

use super::{RootSource, Run};
use crate::{
    cells::Cells,
    turn::{turn, turn_here},
};
use infeed_core::{
    Bytes, Cache, Dim, Dtype, Error, Fetching, FieldKind, Hold, ReadCost, Record, Result, Shard, Source,
    Spec, Tensor, Value,
};
use std::{ops::Range, sync::Arc};

impl Source for RootSource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        self.rows.lens()
    }

    fn shard_of(&self, row: u64) -> String {
        let name = |(part, _): (usize, u64)| self.parts[part].bytes.shard.name.to_string();
        self.rows.find(row).map_or_else(String::new, name)
    }

    /// Returns the number of the entry in its tree.
    fn key(&self, row: u64) -> String {
        self.rows.find(row).map_or_else(String::new, |(_, inside)| inside.to_string())
    }

    fn row_bytes(&self, _row: u64, fields: &[Arc<str>]) -> u64 {
        fields.iter().filter_map(|name| self.spec.position(name)).map(|field| self.weights[field]).sum()
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let set = self.set(fields)?;
        let (blocks, runs) = self.places(rows)?;
        let decoded = self.decode(&blocks, &set)?;
        let record = |(block, row): (usize, usize)| {
            let value = |(at, field): (usize, &usize)| {
                self.value(decoded.cells(block, at), row, *field)
                    .map_err(|error| error.in_field(&set.names[at]))
            };
            Ok(Record { fields: set.places.iter().enumerate().map(value).collect::<Result<_>>()? })
        };
        let each = |run: &Run| {
            let Run { block, first, count } = *run;
            (first..first + count).map(move |row| (block, row))
        };
        let records = runs.iter().flat_map(each).map(record).collect();
        drop(decoded);
        self.served(&set, &blocks, &runs);
        records
    }

    fn stamps(&self, rows: &[u64], _: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        if self.parts.iter().any(|part| part.stamp.is_none()) {
            return None;
        }
        let stamp = |row: &u64| {
            let (part, inside) = self.rows.find(*row)?;
            let stamp = self.parts[part].stamp?.text(&self.parts[part].tree.path);
            Some(stamp.number(part as u64).number(inside).get())
        };
        Some(rows.iter().map(stamp).collect())
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        // Only a hint: errors are reported when the rows are fetched.
        if self.store.room_ahead().is_some() {
            let _ = self.announce(rows, fields);
        }
    }

    fn read_cost(&self, rows: &[u64], fields: &[Arc<str>], _: Fetching) -> Option<ReadCost> {
        self.store.room_ahead().and_then(|_| self.cost(rows, fields).ok())
    }

    fn network(&self) -> Option<&'static str> {
        self.parts.first().and_then(|part| self.store.network(&part.bytes.shard.name))
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

    fn objects(&self) -> Vec<Shard> {
        self.parts.iter().map(|part| part.bytes.shard.clone()).collect()
    }

    fn bytes_of(&self, rows: &[u64], fields: &[Arc<str>], each: &mut dyn FnMut(usize, Range<u64>)) {
        for row in rows {
            let _ = self.ranges(std::slice::from_ref(row), fields, each);
        }
    }

    fn block_rows(&self) -> &[u64] {
        self.blocks.lens()
    }

    fn most_mixed(&self) -> Option<u64> {
        self.mixed
    }

    fn fills(&self, field: &str) -> bool {
        self.spec.position(field).is_some_and(|at| self.spec.fields[at].1.fixed_bytes().is_some())
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        let set = self.set(fields)?;
        let (blocks, runs) = self.places(rows)?;
        let decoded = self.decode(&blocks, &set)?;
        for (at, out) in out.iter_mut().enumerate().take(set.places.len()) {
            let cells: Vec<&Cells> = (0..blocks.len()).map(|block| decoded.cells(block, at)).collect();
            gather(&cells, &runs, out).map_err(|error| error.in_field(&set.names[at]))?;
        }
        drop(decoded);
        self.served(&set, &blocks, &runs);
        Ok(())
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.cache.set_memory(bytes);
        self.store.set_memory(bytes);
    }

    fn describe(&self) -> String {
        let bytes: u64 = self.parts.iter().map(|part| part.bytes.shard.size).sum();
        let tree = self.parts.first().map_or("", |part| part.tree.path.as_str());
        format!(
            "root: tree {tree} of {} rows in {} files ({:.2} GB); {} fields; {} blocks{}",
            self.rows.total(),
            self.parts.len(),
            bytes as f64 / 1e9,
            self.spec.fields.len(),
            self.blocks.len(),
            self.notes
        )
    }
}

fn lost() -> Error {
    Error::Internal { what: "an entry outside of its block".to_owned() }
}

impl RootSource {
    /// Returns one field of one row.
    fn value(&self, cells: &Cells, row: usize, field: usize) -> Result<Value> {
        let bytes = cells.get(row).ok_or_else(lost)?;
        let spec = &self.spec.fields[field].1;
        if spec.kind == FieldKind::Text {
            return Ok(Value::Text(String::from_utf8_lossy(bytes).into_owned()));
        }
        let fixed = |dim: &Dim| if let Dim::Fixed(side) = dim { *side } else { 1 };
        let item: usize = spec.shape.iter().map(fixed).product::<usize>() * spec.dtype.size();
        let side = |dim: &Dim| if let Dim::Fixed(side) = dim { *side } else { bytes.len() / item.max(1) };
        let shape = spec.shape.iter().map(side).collect();
        let mut data = bytes.to_vec();
        if let Some(dtype) = cells.unturned() {
            turn_here(dtype, &mut data);
        }
        Tensor::new(spec.dtype, shape, Bytes::from(data)).map(Value::Tensor)
    }
}

/// Copies rows to where they belong, each run at once.
fn gather(cells: &[&Cells], runs: &[Run], out: &mut [u8]) -> Result<()> {
    let mut datas = Vec::with_capacity(cells.len());
    let mut width = 0;
    for cells in cells {
        let Cells::Rows { width: own, data, unturned } = cells else { return Err(lost()) };
        width = *own;
        datas.push((data.as_slice(), *unturned));
    }
    let count: usize = runs.iter().map(|run| run.count).sum();
    if count.checked_mul(width) != Some(out.len()) {
        return Err(Error::Internal { what: format!("{count} entries do not fill their place") });
    }
    let mut rest = out;
    for run in runs {
        let (to, behind) = rest.split_at_mut(run.count * width);
        let from = run.first * width;
        let found = datas
            .get(run.block)
            .and_then(|(data, unturned)| data.get(from..from + to.len()).map(|found| (found, *unturned)));
        let (found, unturned) = found.ok_or_else(lost)?;
        // The usual widths are single moves.
        match (<&mut [u8; 4]>::try_from(&mut *to), <&[u8; 4]>::try_from(found), unturned) {
            (Ok(to), Ok(found), None) => *to = *found,
            (Ok(to), Ok(found), Some(Dtype::F32 | Dtype::I32 | Dtype::U32)) => {
                *to = u32::from_be_bytes(*found).to_ne_bytes();
            }
            (_, _, Some(dtype)) => turn(dtype, found, to),
            _ => to.copy_from_slice(found),
        }
        rest = behind;
    }
    Ok(())
}
