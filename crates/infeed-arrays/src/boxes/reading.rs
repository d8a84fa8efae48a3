//! Implements [`Source`] for boxes.

use super::{BoxSource, Field, Place, fill::repeat, region::outside};
use crate::{array::Element, source::units};
use infeed_core::{
    Bytes, Cache, Dtype, Error, Fetching, Hold, ReadCost, Record, Result, Shard, Source, Spec, Tensor, Value,
    memory,
};
use std::{ops::Range, sync::Arc};

impl Source for BoxSource {
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

    /// Returns the first step of the row in its file, or the name of what is the row, and where the patch begins: `12@0,64,64`.
    fn key(&self, row: u64) -> String {
        let Ok(place) = self.place(row) else { return String::new() };
        let mut key = match self.axis {
            Some(_) => place.begin.to_string(),
            None => self.parts[place.part].key.clone(),
        };
        for (at, origin) in place.origin.iter().enumerate() {
            key += &format!("{}{origin}", if at == 0 { '@' } else { ',' });
        }
        key
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        let Some((part, _)) = self.rows.find(row) else { return 0 };
        fields.iter().filter_map(|name| self.spec.position(name)).map(|field| self.width(part, field)).sum()
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let places = self.places(fields)?;
        let record = |row: &u64| {
            let place = self.place(*row)?;
            let value = |field: &usize| {
                let name = &self.spec.fields[*field].0;
                self.value(&place, *field).map_err(|e| e.in_field(name))
            };
            Ok(Record { fields: places.iter().map(value).collect::<Result<_>>()? })
        };
        rows.iter().map(record).collect()
    }

    fn stamps(&self, rows: &[u64], _: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        if self.parts.iter().any(|part| part.stamp.is_none()) {
            return None;
        }
        // Another form makes another row of the same place.
        let form = format!("{:?}", self.form);
        let stamp = |row: &u64| {
            let place = self.place(*row).ok()?;
            let inside = self.rows.find(*row)?.1;
            let mut stamp =
                self.parts[place.part].stamp?.text(&form).number(place.part as u64).number(inside);
            // A window may go on in other files.
            let span = self.form.windows.map_or(1, |windows| windows.span());
            for (part, _) in self.lies(place.part, place.begin..place.begin + span).into_iter().skip(1) {
                stamp = stamp.wide(self.parts[part].stamp?.get());
            }
            Some(place.origin.iter().fold(stamp.number(place.begin), |all, at| all.number(*at)).get())
        };
        Some(rows.iter().map(stamp).collect())
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        // Only a hint: errors are reported when the rows are fetched.
        let _ = self.announce(rows, fields);
    }

    fn read_cost(&self, rows: &[u64], fields: &[Arc<str>], _: Fetching) -> Option<ReadCost> {
        self.store.room_ahead().and_then(|_| self.cost(rows, fields).ok())
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
            let _ = self.ranges(std::slice::from_ref(row), fields, &|_| true, each);
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
        let places = self.places(fields)?;
        let mut found: Vec<(u64, usize)> = rows.iter().copied().zip(0..).collect();
        // Neighbours share chunks.
        found.sort_unstable();
        for (field, out) in places.into_iter().zip(out) {
            let width = self.spec.fields[field].1.fixed_bytes();
            let Some(width) = width.filter(|width| width.checked_mul(rows.len()) == Some(out.len())) else {
                let what = format!("{} boxes of arrays do not fill their place", rows.len());
                return Err(Error::Internal { what });
            };
            for (row, at) in &found {
                let to = out.get_mut(at * width..(at + 1) * width).ok_or_else(outside)?;
                let name = &self.spec.fields[field].0;
                self.write(&self.place(*row)?, field, to).map_err(|e| e.in_field(name))?;
            }
        }
        Ok(())
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.cache.set_memory(bytes);
        self.store.set_memory(bytes);
    }

    fn units(&self, field: &str) -> Result<Option<String>> {
        units(&self.parts, field)
    }

    fn describe(&self) -> String {
        self.described()
    }
}

impl BoxSource {
    /// Writes a field of a row.
    fn write(&self, place: &Place, field: usize, out: &mut [u8]) -> Result<()> {
        let Field::Values { variables, target } = &self.fields[field] else {
            for (at, to) in place.origin.iter().zip(out.chunks_exact_mut(8)) {
                to.copy_from_slice(&at.to_ne_bytes());
            }
            return Ok(());
        };
        if self.is_padded(place) && self.cuts[place.part].variables[variables[0]].cut {
            repeat(&self.fills[variables[0]], out);
        }
        for (channel, variable) in variables.iter().enumerate() {
            for (part, region) in self.regions(place, *variable, *target, (channel, variables.len())) {
                self.copy_region(part, *variable, &region, out)?;
            }
        }
        Ok(())
    }

    /// Returns a field of a row.
    fn value(&self, place: &Place, field: usize) -> Result<Value> {
        let width = usize::try_from(self.width(place.part, field)).unwrap_or(usize::MAX);
        let mut data: Vec<u8> = memory::zeroed(width)?;
        self.write(place, field, &mut data)?;
        let dtype = match &self.fields[field] {
            Field::Origin => Dtype::I64,
            Field::Values { variables, .. } => match self.elements[variables[0]] {
                Element::Number(dtype) => dtype,
                Element::Text(_) => {
                    let array = &self.parts[place.part].arrays[variables[0]];
                    return Ok(Value::Text(array.texts(&data)?.pop().unwrap_or_default()));
                }
            },
        };
        let shape = self.shape(place.part, field).iter().map(|side| *side as usize).collect();
        Tensor::new(dtype, shape, Bytes::from(data)).map(Value::Tensor)
    }
}
