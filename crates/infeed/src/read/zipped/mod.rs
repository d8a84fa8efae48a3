//! Several sources side by side: a row has the fields of one row of each.

mod part;

pub use part::ZipPart;

use infeed_core::{
    Cache, Error, Fetching, ReadCost, Record, Result, Shard, Source, Spec, Stamp, Value, Variable,
    source::FieldDecoder,
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

/// Fields of a part, and their places among those that are wanted.
type Wanted = (Vec<Arc<str>>, Vec<usize>);

/// Sources side by side.
#[derive(Debug)]
pub struct Zipped {
    parts: Vec<ZipPart>,
    spec: Spec,
    /// The part of each field, and its name there.
    origins: Vec<(usize, Arc<str>)>,
    shard_rows: Vec<u64>,
    block_rows: Vec<u64>,
    /// What `explain()` says about which rows belong together.
    note: String,
    /// How many objects each source has, once somebody asks for them.
    objects: OnceLock<Vec<usize>>,
}

impl Zipped {
    /// Puts the parts side by side; all must have `total` rows.
    pub fn new(parts: Vec<ZipPart>, total: u64, note: String) -> Result<Self> {
        let (mut spec, mut origins) = (Spec::default(), Vec::new());
        for (number, part) in parts.iter().enumerate() {
            for (own, name) in &part.fields {
                let at = part.source.spec().require(own, "zip")?;
                if let Some(before) = spec.position(name) {
                    let (first, _): &(usize, Arc<str>) = &origins[before];
                    let what = format!("the field `{name}` is in part {first} and in part {number}");
                    return Err(Error::plan("zip", what + ": give the parts names=, or read other fields"));
                }
                spec.fields.push((Arc::clone(name), part.source.spec().fields[at].1.clone()));
                origins.push((number, Arc::clone(own)));
            }
        }
        let shard_rows = parts.first().map_or_else(Vec::new, |part| match part.rows {
            None => part.source.shard_rows().to_vec(),
            Some(_) => part.runs(part.source.shard_rows(), total),
        });
        // The blocks of one part are the order's. Those of the part with the largest ones cost most to decode again.
        let blocks = parts.iter().filter(|part| !part.source.block_rows().is_empty());
        let blocks = blocks.map(|part| part.runs(part.source.block_rows(), total));
        let block_rows = blocks.min_by_key(Vec::len).unwrap_or_default();
        Ok(Zipped { parts, spec, origins, shard_rows, block_rows, note, objects: OnceLock::new() })
    }

    /// The fields of each part among these, with their places among them.
    fn by_part(&self, fields: &[Arc<str>]) -> Result<Vec<Wanted>> {
        let mut out = vec![(Vec::new(), Vec::new()); self.parts.len()];
        for (place, name) in fields.iter().enumerate() {
            let (part, own) = &self.origins[self.spec.require(name, "read")?];
            out[*part].0.push(Arc::clone(own));
            out[*part].1.push(place);
        }
        Ok(out)
    }

    /// Calls `each` with every part of which fields are wanted, its rows, and its fields and their places.
    fn each(
        &self,
        rows: &[u64],
        fields: &[Arc<str>],
        mut each: impl FnMut(usize, &Arc<dyn Source>, &[u64], &[Arc<str>], &[usize]) -> Result<()>,
    ) -> Result<()> {
        for (number, (own, places)) in self.by_part(fields)?.iter().enumerate() {
            if !own.is_empty() {
                let part = &self.parts[number];
                each(number, &part.source, &part.local(rows)?, own, places)?;
            }
        }
        Ok(())
    }

    fn sources(&self) -> impl Iterator<Item = &Arc<dyn Source>> {
        self.parts.iter().map(|part| &part.source)
    }
}

impl Source for Zipped {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.shard_rows
    }

    fn shard_of(&self, row: u64) -> String {
        self.parts.first().and_then(|part| Some(part.source.shard_of(part.row(row)?))).unwrap_or_default()
    }

    /// The keys in all parts.
    fn key(&self, row: u64) -> String {
        let key = |part: &ZipPart| Some(part.source.key(part.row(row)?));
        let mut keys: Vec<String> = self.parts.iter().filter_map(key).collect();
        keys.dedup();
        keys.join("+")
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        let mut sum = 0;
        let _ = self.each(&[row], fields, |_, source, rows, fields, _| {
            sum += rows.iter().map(|row| source.row_bytes(*row, fields)).sum::<u64>();
            Ok(())
        });
        sum
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let mut out = vec![Record { fields: vec![Value::Missing; fields.len()] }; rows.len()];
        self.each(rows, fields, |_, source, rows, fields, places| {
            for (out, record) in out.iter_mut().zip(source.fetch(rows, fields)?) {
                for (place, value) in places.iter().zip(record.fields) {
                    out.fields[*place] = value;
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn stamps(&self, rows: &[u64], fields: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        let mut out = vec![Some(Stamp::default()); rows.len()];
        let known = self.each(rows, fields, |number, source, rows, fields, _| {
            let nobody = || Error::Internal { what: "nobody knows".to_owned() };
            for (all, own) in out.iter_mut().zip(source.stamps(rows, fields).ok_or_else(nobody)?) {
                *all = all.take().zip(own).map(|(all, own)| all.number(number as u64).wide(own));
            }
            Ok(())
        });
        known.ok()?;
        Some(out.into_iter().map(|stamp| stamp.map(Stamp::get)).collect())
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        let _ = self.each(rows, fields, |_, source, rows, fields, _| {
            source.will_fetch(rows, fields);
            Ok(())
        });
    }

    fn will_fetch_blocks(&self, rows: &[u64], fields: &[Arc<str>]) {
        let _ = self.each(rows, fields, |_, source, rows, fields, _| {
            source.will_fetch_blocks(rows, fields);
            Ok(())
        });
    }

    fn read_cost(&self, rows: &[u64], fields: &[Arc<str>], fetching: Fetching) -> Option<ReadCost> {
        let mut sum = ReadCost::default();
        let all = self.each(rows, fields, |_, source, rows, fields, _| {
            let cost = source.read_cost(rows, fields, fetching);
            let cost = cost.ok_or_else(|| Error::Internal { what: "nobody knows".to_owned() })?;
            sum.used += cost.used;
            sum.read += cost.read;
            sum.requests += cost.requests;
            Ok(())
        });
        all.ok().map(|()| sum)
    }

    fn network(&self) -> Option<&'static str> {
        self.sources().find_map(|source| source.network())
    }

    fn room_ahead(&self) -> Option<u64> {
        self.sources().filter_map(|source| source.room_ahead()).min()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.sources().for_each(|source| source.ahead_for(run, step, done));
    }

    fn forget_ahead(&self) {
        self.sources().for_each(|source| source.forget_ahead());
    }

    fn caches(&self) -> Vec<&dyn Cache> {
        self.sources().flat_map(|source| source.caches()).collect()
    }

    /// Those of all sources, if each of them can say which.
    fn objects(&self) -> Vec<Shard> {
        let of: Vec<Vec<Shard>> = self.sources().map(|source| source.objects()).collect();
        if of.iter().any(Vec::is_empty) { Vec::new() } else { of.concat() }
    }

    fn bytes_of(&self, rows: &[u64], fields: &[Arc<str>], each: &mut dyn FnMut(usize, Range<u64>)) {
        let count = || self.sources().map(|source| source.objects().len()).collect();
        let counts: &Vec<usize> = self.objects.get_or_init(count);
        let _ = self.each(rows, fields, |number, source, rows, fields, _| {
            let first: usize = counts[..number].iter().sum();
            source.bytes_of(rows, fields, &mut |object, bytes| each(first + object, bytes));
            Ok(())
        });
    }

    /// Those of the only part that has a field of labels.
    fn classes(&self) -> &[String] {
        self.sources().map(|source| source.classes()).find(|classes| !classes.is_empty()).unwrap_or_default()
    }

    fn decoders(&self) -> Vec<FieldDecoder> {
        let one = |part: &ZipPart| {
            let named = |own: &Arc<str>| part.fields.iter().find(|(field, _)| field == own);
            let decoders = part.source.decoders().into_iter();
            let known =
                decoders.filter_map(|(own, decoder, args)| Some((named(&own)?.1.clone(), decoder, args)));
            known.collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(one).collect()
    }

    fn damage(&self) -> Vec<String> {
        self.sources().flat_map(|source| source.damage()).collect()
    }

    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let mut sum: Option<Vec<i64>> = None;
        for part in &self.parts {
            let Some(column) = part.source.column(name)? else {
                if name == "bytes" {
                    return Ok(None);
                }
                continue;
            };
            let own =
                |row: u64| usize::try_from(part.row(row)?).ok().and_then(|row| column.get(row).copied());
            let own: Vec<i64> = (0..self.rows()).filter_map(own).collect();
            // Bytes of a row are those of all parts; other numbers are the first part's that has them.
            match &mut sum {
                None => sum = Some(own),
                Some(sum) if name == "bytes" => sum.iter_mut().zip(own).for_each(|(all, own)| *all += own),
                Some(_) => {}
            }
        }
        Ok(sum)
    }

    fn block_rows(&self) -> &[u64] {
        &self.block_rows
    }

    fn most_mixed(&self) -> Option<u64> {
        self.sources().filter_map(|source| source.most_mixed()).min()
    }

    fn fills(&self, field: &str) -> bool {
        let origin = self.spec.position(field).map(|at| &self.origins[at]);
        origin.is_some_and(|(part, own)| self.parts[*part].source.fills(own))
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        self.each(rows, fields, |_, source, rows, fields, places| {
            let mut own: Vec<&mut [u8]> = Vec::with_capacity(places.len());
            for (at, out) in out.iter_mut().enumerate() {
                if places.contains(&at) {
                    own.push(out);
                }
            }
            source.fill(rows, fields, &mut own)
        })
    }

    fn set_memory(&self, bytes: Option<u64>) {
        let share = bytes.map(|bytes| bytes / self.parts.len().max(1) as u64);
        self.sources().for_each(|source| source.set_memory(share));
    }

    fn set_largest_row(&self, bytes: u64) {
        self.sources().for_each(|source| source.set_largest_row(bytes));
    }

    fn variables(&self) -> Vec<Variable> {
        let one = |part: &ZipPart| {
            let named = |own: &Arc<str>| part.fields.iter().find(|(field, _)| field == own);
            let known = part.source.variables().into_iter();
            known
                .filter_map(|one| Some(Variable { name: named(&one.name)?.1.clone(), ..one }))
                .collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(one).collect()
    }

    fn units(&self, field: &str) -> Result<Option<String>> {
        let (part, own) = &self.origins[self.spec.require(field, "zip")?];
        self.parts[*part].source.units(own)
    }

    fn describe(&self) -> String {
        let parts: Vec<String> = self.sources().map(|source| source.describe()).collect();
        format!("{} sources side by side{}: {}", parts.len(), self.note, parts.join("; "))
    }
}
