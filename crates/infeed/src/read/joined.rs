//! Joins several sources into one: the rows of the first, then those of the second, and so on.

use infeed_core::{
    Cache, Error, Fetching, ReadCost, Record, Result, Shard, Source, Spec, Value, format::Fields,
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

/// Sources one after the other. Fields are matched by name; a field that a source lacks is missing.
#[derive(Debug)]
pub struct Joined {
    sources: Vec<Arc<dyn Source>>,
    /// The first row of each source, and the total at the end.
    starts: Vec<u64>,
    shard_rows: Vec<u64>,
    block_rows: Vec<u64>,
    spec: Spec,
    /// How many objects each source has, once somebody asks for them.
    objects: OnceLock<Vec<usize>>,
}

impl Joined {
    /// Joins the sources in the given order.
    pub fn new(sources: Vec<Arc<dyn Source>>) -> Result<Self> {
        let mut starts = vec![0];
        let mut spec = Spec::default();
        for (number, source) in sources.iter().enumerate() {
            starts.push(starts[number] + source.rows());
            for (name, field) in &source.spec().fields {
                match spec.position(name) {
                    None => spec.fields.push((Arc::clone(name), field.clone())),
                    Some(at) if spec.fields[at].1 == *field => {}
                    Some(at) => {
                        let before = &spec.fields[at].1;
                        return Err(Error::plan(
                            "join",
                            format!(
                                "the field `{name}` is {before} in the parts before, but {field} in part {number}"
                            ),
                        ));
                    }
                }
            }
        }
        let shard_rows = sources.iter().flat_map(|s| s.shard_rows().iter().copied()).collect();
        let mut block_rows = vec![];
        if sources.iter().any(|s| !s.block_rows().is_empty()) {
            for source in &sources {
                let blocks = source.block_rows();
                block_rows.extend(if blocks.is_empty() { source.shard_rows() } else { blocks });
            }
        }
        Ok(Joined { sources, starts, shard_rows, block_rows, spec, objects: OnceLock::new() })
    }

    fn at(&self, row: u64) -> Option<(&Arc<dyn Source>, u64)> {
        let slot = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.sources.get(slot)?, row - self.starts[slot]))
    }

    /// Calls `each` with every source, its rows among `rows` in its own numbering, and their indices in `rows`.
    fn by_source(
        &self,
        rows: &[u64],
        mut each: impl FnMut(&Arc<dyn Source>, &[u64], &[usize]) -> Result<()>,
    ) -> Result<()> {
        for (slot, source) in self.sources.iter().enumerate() {
            let within = self.starts[slot]..self.starts[slot + 1];
            let (mut local, mut places) = (vec![], vec![]);
            for (place, row) in rows.iter().enumerate().filter(|(_, row)| within.contains(row)) {
                local.push(row - within.start);
                places.push(place);
            }
            if !local.is_empty() {
                each(source, &local, &places)?;
            }
        }
        Ok(())
    }
}

impl Source for Joined {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn fields_of_states(&self) -> Fields {
        let mut all = Fields::new();
        for field in self.sources.iter().flat_map(|source| source.fields_of_states()) {
            if !all.iter().any(|(known, _)| *known == field.0) {
                all.push(field);
            }
        }
        all
    }

    fn shard_rows(&self) -> &[u64] {
        &self.shard_rows
    }

    fn shard_of(&self, row: u64) -> String {
        self.at(row).map(|(source, row)| source.shard_of(row)).unwrap_or_default()
    }

    fn stamps(&self, rows: &[u64], fields: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        let mut out = vec![None; rows.len()];
        for (slot, source) in self.sources.iter().enumerate() {
            // A field that a source lacks is missing, whatever happens to it.
            let own: Vec<Arc<str>> =
                fields.iter().filter(|name| source.spec().position(name).is_some()).cloned().collect();
            let within = self.starts[slot]..self.starts[slot + 1];
            let places = (0..rows.len()).filter(|place| within.contains(&rows[*place]));
            let places: Vec<usize> = places.collect();
            let local: Vec<u64> = places.iter().map(|place| rows[*place] - within.start).collect();
            // One that cannot tell is not asked for rows: those of the others can be kept all the same.
            for (place, stamp) in places.into_iter().zip(source.stamps(&local, &own).unwrap_or_default()) {
                out[place] = stamp;
            }
        }
        Some(out)
    }

    fn key(&self, row: u64) -> String {
        self.at(row).map(|(source, row)| source.key(row)).unwrap_or_default()
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        self.at(row).map_or(0, |(source, row)| source.row_bytes(row, fields))
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let total = self.starts.last().copied().unwrap_or(0);
        if let Some(row) = rows.iter().find(|row| **row >= total) {
            return Err(Error::argument(format!("there is no row {row}: there are {total}")));
        }
        let mut out = vec![Record::default(); rows.len()];
        self.by_source(rows, |source, local, places| {
            let has: Vec<bool> = fields.iter().map(|f| source.spec().position(f).is_some()).collect();
            let asked: Vec<Arc<str>> =
                fields.iter().zip(&has).filter(|(_, has)| **has).map(|(f, _)| Arc::clone(f)).collect();
            for (place, record) in places.iter().zip(source.fetch(local, &asked)?) {
                let mut found = record.fields.into_iter();
                let fields = has
                    .iter()
                    .map(|has| if *has { found.next().unwrap_or_default() } else { Value::Missing });
                out[*place] = Record { fields: fields.collect() };
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn block_rows(&self) -> &[u64] {
        &self.block_rows
    }

    fn most_mixed(&self) -> Option<u64> {
        self.sources.iter().filter_map(|source| source.most_mixed()).min()
    }

    fn fills(&self, field: &str) -> bool {
        self.sources.iter().all(|s| s.fills(field))
    }

    /// Consecutive rows of the same source are written by one call.
    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        let gone = |row| Error::argument(format!("there is no row {row}"));
        let each: Vec<usize> = out.iter().map(|out| out.len() / rows.len().max(1)).collect();
        let mut local = Vec::with_capacity(rows.len());
        let mut first = 0;
        while first < rows.len() {
            let row = rows[first];
            let slot = (self.starts.partition_point(|start| *start <= row))
                .checked_sub(1)
                .filter(|slot| *slot < self.sources.len())
                .ok_or_else(|| gone(row))?;
            let within = self.starts[slot]..self.starts[slot + 1];
            let mine = rows[first..].iter().take_while(|row| within.contains(row));
            local.clear();
            local.extend(mine.map(|row| row - within.start));
            let end = first + local.len();
            let mut places: Vec<&mut [u8]> =
                out.iter_mut().zip(&each).map(|(out, each)| &mut out[first * each..end * each]).collect();
            self.sources[slot].fill(&local, fields, &mut places)?;
            first = end;
        }
        Ok(())
    }

    fn set_memory(&self, bytes: Option<u64>) {
        let each = bytes.map(|bytes| bytes / self.sources.len() as u64);
        self.sources.iter().for_each(|source| source.set_memory(each));
    }

    fn set_largest_row(&self, bytes: u64) {
        self.sources.iter().for_each(|source| source.set_largest_row(bytes));
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        let _ = self.by_source(rows, |source, local, _| {
            source.will_fetch(local, fields);
            Ok(())
        });
    }

    fn will_fetch_blocks(&self, rows: &[u64], fields: &[Arc<str>]) {
        let _ = self.by_source(rows, |source, local, _| {
            source.will_fetch_blocks(local, fields);
            Ok(())
        });
    }

    fn read_cost(&self, rows: &[u64], fields: &[Arc<str>], fetching: Fetching) -> Option<ReadCost> {
        let mut sum = ReadCost::default();
        let all = self.by_source(rows, |source, local, _| {
            let cost = source.read_cost(local, fields, fetching);
            let cost = cost.ok_or_else(|| Error::Internal { what: "nobody knows".to_owned() })?;
            sum.used += cost.used;
            sum.read += cost.read;
            sum.requests += cost.requests;
            Ok(())
        });
        all.ok().map(|()| sum)
    }

    fn network(&self) -> Option<&'static str> {
        self.sources.iter().find_map(|source| source.network())
    }

    fn room_ahead(&self) -> Option<u64> {
        self.sources.iter().filter_map(|source| source.room_ahead()).min()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.sources.iter().for_each(|source| source.ahead_for(run, step, done));
    }

    fn forget_ahead(&self) {
        self.sources.iter().for_each(|source| source.forget_ahead());
    }

    fn caches(&self) -> Vec<&dyn Cache> {
        self.sources.iter().flat_map(|source| source.caches()).collect()
    }

    /// Those of all sources, if each of them can say which.
    fn objects(&self) -> Vec<Shard> {
        let of: Vec<Vec<Shard>> = self.sources.iter().map(|source| source.objects()).collect();
        if of.iter().any(Vec::is_empty) { Vec::new() } else { of.concat() }
    }

    fn bytes_of(&self, rows: &[u64], fields: &[Arc<str>], each: &mut dyn FnMut(usize, Range<u64>)) {
        let count = || self.sources.iter().map(|source| source.objects().len()).collect();
        let (counts, mut first) = (self.objects.get_or_init(count), 0);
        for (slot, source) in self.sources.iter().enumerate() {
            let within = self.starts[slot]..self.starts[slot + 1];
            let local: Vec<u64> =
                rows.iter().filter(|row| within.contains(row)).map(|row| row - within.start).collect();
            if !local.is_empty() {
                source.bytes_of(&local, fields, &mut |object, bytes| each(first + object, bytes));
            }
            first += counts[slot];
        }
    }

    /// Returns those of the first source, if all have the same.
    fn classes(&self) -> &[String] {
        match self.sources.as_slice() {
            [first, rest @ ..] if rest.iter().all(|s| s.classes() == first.classes()) => first.classes(),
            _ => &[],
        }
    }

    fn damage(&self) -> Vec<String> {
        self.sources.iter().flat_map(|s| s.damage()).collect()
    }

    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let mut all = vec![];
        for source in &self.sources {
            match source.column(name)? {
                Some(column) => all.extend(column),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    fn describe(&self) -> String {
        let parts: Vec<String> = self.sources.iter().map(|s| s.describe()).collect();
        format!("{} sources: {}", parts.len(), parts.join("; "))
    }
}
