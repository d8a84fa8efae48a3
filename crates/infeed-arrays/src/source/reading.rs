//! Implements [`Source`] for arrays.

use super::{ArraySource, axis_of, units};
use crate::array::Element;
use infeed_core::{
    Bytes, Cache, Error, Fetching, Hold, ReadCost, Record, Result, Shard, Source, Spec, Tensor, Value,
    Variable, memory,
};
use std::{ops::Range, sync::Arc};

/// Rows of one part: their numbers there, and their places in a batch.
type PartRows<'a> = &'a [(usize, u64, usize)];

impl Source for ArraySource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.shard_rows
    }

    fn shard_of(&self, row: u64) -> String {
        let name = |(part, _): (usize, u64)| self.parts[part].name.to_string();
        self.rows.find(row).map_or_else(String::new, name)
    }

    /// Returns the number of the row in its file, or the name of what is the row.
    fn key(&self, row: u64) -> String {
        let key = |(part, inside): (usize, u64)| match self.axis {
            Some(_) => inside.to_string(),
            None => self.parts[part].key.clone(),
        };
        self.rows.find(row).map_or_else(String::new, key)
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        let Some((part, _)) = self.rows.find(row) else { return 0 };
        fields.iter().filter_map(|name| self.spec.position(name)).map(|field| self.width(part, field)).sum()
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let places = self.places(fields)?;
        let record = |row: &u64| {
            let (part, inside) = self.find(*row)?;
            let value = |field: &usize| {
                let name = &self.spec.fields[*field].0;
                self.value(*row, part, inside, *field).map_err(|e| e.in_field(name))
            };
            Ok(Record { fields: places.iter().map(value).collect::<Result<_>>()? })
        };
        rows.iter().map(record).collect()
    }

    fn stamps(&self, rows: &[u64], _: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        if self.parts.iter().any(|part| part.stamp.is_none()) {
            return None;
        }
        let stamp = |row: &u64| {
            let (part, inside) = self.rows.find(*row)?;
            Some(self.parts[part].stamp?.number(part as u64).number(inside).get())
        };
        Some(rows.iter().map(stamp).collect())
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        // Only a hint: errors are reported when the rows are fetched.
        let _ = self.announce(rows, fields, false);
    }

    fn will_fetch_blocks(&self, rows: &[u64], fields: &[Arc<str>]) {
        let _ = self.announce(rows, fields, true);
    }

    fn read_cost(&self, rows: &[u64], fields: &[Arc<str>], fetching: Fetching) -> Option<ReadCost> {
        self.store.room_ahead().and_then(|_| self.cost(rows, fields, fetching).ok())
    }

    fn network(&self) -> Option<&'static str> {
        self.objects.first().and_then(|object| self.store.network(object.name()))
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
        self.objects.iter().map(|object| object.shard().clone()).collect()
    }

    fn bytes_of(&self, rows: &[u64], fields: &[Arc<str>], each: &mut dyn FnMut(usize, Range<u64>)) {
        for row in rows {
            let _ = self.ranges(std::slice::from_ref(row), fields, each);
        }
    }

    fn block_rows(&self) -> &[u64] {
        self.blocks.rows.lens()
    }

    fn most_mixed(&self) -> Option<u64> {
        self.blocks.mixed
    }

    fn fills(&self, field: &str) -> bool {
        self.spec.position(field).is_some_and(|at| self.field(at).fixed_bytes().is_some())
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        let places = self.places(fields)?;
        let mut found = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let (part, inside) = self.find(*row)?;
            found.push((part, inside, place));
        }
        // Neighbours are read together.
        found.sort_unstable();
        for (field, out) in places.into_iter().zip(out) {
            let width = self.field(field).fixed_bytes();
            if width.and_then(|width| width.checked_mul(rows.len())) != Some(out.len()) {
                let what = format!("{} rows of an array do not fill their place", rows.len());
                return Err(Error::Internal { what });
            }
            for same in found.chunk_by(|a, b| a.0 == b.0) {
                self.fill_part(rows, same, field, out)?;
            }
        }
        Ok(())
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.cache.set_memory(bytes);
        self.store.set_memory(bytes);
    }

    fn variables(&self) -> Vec<Variable> {
        self.facts()
    }

    fn units(&self, field: &str) -> Result<Option<String>> {
        units(&self.parts, field)
    }

    fn describe(&self) -> String {
        let fields: Vec<&str> = self.spec.fields.iter().map(|(name, _)| &**name).collect();
        let bytes: u64 = self.objects.iter().map(|object| object.size()).sum();
        let how = match self.axis {
            Some(axis) => format!("rows along axis {axis}"),
            None => "whole arrays as rows".to_owned(),
        };
        let mut text = format!(
            "{} of {} rows in {} files ({:.2} GB), {how}; fields {}",
            self.kind,
            self.rows.total(),
            self.objects.len(),
            bytes as f64 / 1e9,
            fields.join(", ")
        );
        if !self.blocks.rows.is_empty() {
            text += &format!("; {} blocks", self.blocks.rows.len());
        }
        text + &self.notes
    }
}

impl ArraySource {
    /// Writes one field of rows of one part.
    fn fill_part(&self, rows: &[u64], same: PartRows<'_>, field: usize, out: &mut [u8]) -> Result<()> {
        let width = out.len() / rows.len().max(1);
        let lost = || Error::Internal { what: "a row outside of its batch".to_owned() };
        let Some((part, ..)) = same.first().copied() else { return Ok(()) };
        if let Some(dense) = self.dense(part, field) {
            let rows: Vec<(u64, usize)> = same.iter().map(|(_, inside, place)| (*inside, *place)).collect();
            return self.write_dense(part, dense, &rows, out);
        }
        if !self.blocks.banded.get(field).copied().unwrap_or(false) {
            for (_, inside, place) in same {
                let to = out.get_mut(place * width..(place + 1) * width).ok_or_else(lost)?;
                self.write(part, *inside, field, to)?;
            }
            return Ok(());
        }
        let mut blocks: Vec<usize> = Vec::new();
        let mut wanted = Vec::with_capacity(same.len());
        for (_, _, place) in same {
            let (block, inside) = self.blocks.rows.find(rows[*place]).ok_or_else(lost)?;
            if blocks.last() != Some(&block) {
                blocks.push(block);
            }
            wanted.push((blocks.len() - 1, inside as usize, *place));
        }
        let bands = self.bands(&blocks, field)?;
        for (band, inside, place) in wanted {
            let to = out.get_mut(place * width..(place + 1) * width).ok_or_else(lost)?;
            bands[band].row(inside, to)?;
        }
        Ok(())
    }

    /// Returns one field of one row.
    fn value(&self, row: u64, part: usize, inside: u64, field: usize) -> Result<Value> {
        let array = &self.parts[part].arrays[field];
        let width = usize::try_from(self.width(part, field)).unwrap_or(usize::MAX);
        let mut data: Vec<u8> = memory::zeroed(width)?;
        match self.block_of(row, field) {
            Some(block) => {
                let lost = || Error::Internal { what: "a block without its row".to_owned() };
                let inside = self.blocks.rows.range(block).map(|range| row - range.start).ok_or_else(lost)?;
                self.bands(&[block], field)?.first().ok_or_else(lost)?.row(inside as usize, &mut data)?;
            }
            None => self.write(part, inside, field, &mut data)?,
        }
        match self.elements[field] {
            Element::Text(_) => Ok(Value::Text(array.texts(&data)?.pop().unwrap_or_default())),
            Element::Number(dtype) => {
                let mut shape: Vec<usize> = array.shape().iter().map(|side| *side as usize).collect();
                if let Some(axis) = axis_of(self.axis, shape.len()) {
                    shape.remove(axis);
                }
                Tensor::new(dtype, shape, Bytes::from(data)).map(Value::Tensor)
            }
        }
    }
}
