//! JSON lines: an object on every line.

use super::{rows, shared};
use crate::layout::rows::{FirstRows, Row, RowCodec, RowLayout, RowSchema, Sketch, numbered};
use infeed_core::{
    Args, Can, Error, FileLook, FolderLook, FormatEntry, Packing, Param, Record, Result, StoreExt, Sure,
    Value,
    format::Fields,
    opening::{self, ends_with},
};
use infeed_records::{
    Guess,
    json::{Raw, Wanted, extract, guess, keys, value},
    split::{Lines, Split},
    text::unmarked,
};
use std::sync::Arc;

/// Rows that are read to learn the fields.
const LOOK: usize = 100;

#[derive(Debug)]
pub(super) struct Jsonl {
    /// Fields that are wanted; `None` means all keys.
    wanted: Option<Vec<String>>,
    largest: u64,
}

/// The entry of this format.
pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "jsonl",
    about: "JSON lines: an object on every line",
    details: "Blank lines are skipped. The fields are the keys of the first 100 rows of every file. Text, numbers, booleans and lists of \
              numbers keep their type; everything else becomes JSON text. A missing or null field is None. A row whose field has \
              another type than in the first rows is a bad sample; an integer where the first rows have floats is fine.",
    params: PARAMS,
    endings: &[".jsonl", ".ndjson", ".jsonlines", ".json"],
    magic: &[],
    can: Can { stream: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: Some(recognise_folder),
    open: |request| {
        let args = request.args()?;
        rows::open(request, Arc::new(make(&args)?), shared::cache(&args)?)
    },
};

/// A `.json` file is usually one document. It counts as JSON lines only if its first line is a whole object.
fn recognise(file: &FileLook<'_>) -> Option<opening::Guess> {
    if !ENTRY.has_ending(file.name) {
        return None;
    }
    if ends_with(file.name, ".json") && !file.head.is_empty() {
        let line = file.head.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty())?;
        let whole = file.head.contains(&b'\n') || file.head.len() as u64 == file.size;
        let object = if whole { keys(unmarked(line), |_, _| {}).is_ok() } else { line.starts_with(b"{") };
        return object.then(|| opening::Guess::new(Sure::Name));
    }
    Some(opening::Guess::new(Sure::Name))
}

/// `.json` files beside other data are usually metadata: they count only if there is nothing else, and if they are JSON
/// lines.
fn recognise_folder(folder: &FolderLook<'_>) -> Result<Option<opening::Guess>> {
    let named: Vec<&str> =
        folder.files.iter().copied().filter(|n| ENTRY.has_ending(Packing::bare(n))).collect();
    let lines = named.iter().filter(|name| !ends_with(name, ".json")).count();
    let Some(first) = named.first() else { return Ok(None) };
    if lines > 0 {
        return Ok(Some(opening::Guess { count: lines, ..opening::Guess::new(Sure::Name) }));
    }
    let shard = folder.store.stat_one(first)?;
    let head = folder.store.read_one(&shard, 0..shard.size.min(4096))?;
    let look = FileLook { name: first, head: &head, size: shard.size, alone: named.len() == 1 };
    Ok(recognise(&look).map(|_| opening::Guess { count: named.len(), ..opening::Guess::new(Sure::Weak) }))
}

const PARAMS: &[Param] = &[
    Param {
        name: "fields",
        python: "Sequence[str] | None",
        default: Some("null"),
        about: "fields to read, `a.b` for the key b of the object a; all keys by default",
    },
    shared::INDEX,
    shared::MAX_ROW,
];

pub(super) fn make(args: &Args) -> Result<Jsonl> {
    let wanted = shared::names(args, "fields")?;
    Ok(Jsonl { wanted, largest: args.int("max_row", 1)? as u64 })
}

impl RowLayout for Jsonl {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn splitter(&self) -> Box<dyn Split> {
        Box::new(Lines::new(false))
    }

    fn lines(&self) -> Option<bool> {
        Some(false)
    }

    fn largest(&self) -> u64 {
        self.largest
    }

    fn tag(&self) -> String {
        String::new()
    }

    fn look(&self) -> usize {
        LOOK
    }

    fn sketch(&self, head: &FirstRows) -> Result<Sketch> {
        let mut sketch = Sketch::new();
        let mut see = |at: usize, name: &str, raw: &Raw<'_>| {
            // Rows usually have the same keys in the same order.
            let near = sketch.get(at).is_some_and(|(known, _)| **known == *name).then_some(at);
            match near.or_else(|| sketch.iter().position(|(known, _)| **known == *name)) {
                Some(place) => sketch[place].1 = sketch[place].1.join(guess(raw)),
                None => sketch.push((name.into(), guess(raw))),
            }
        };
        let wanted = self.wanted.as_ref().map(|names| Wanted::new(names.iter().map(String::as_str)));
        let mut found = vec![None; wanted.as_ref().map_or(0, Wanted::len)];
        // A bad line becomes a bad sample when it is read: it must not prevent reading the others.
        let (mut good, mut bad) = (0, None);
        for row in &head.rows {
            let line = text(row);
            if row.number == 0 && line.trim_ascii_start().starts_with(b"[") {
                let what = "it begins with a list, so it is one JSON document; JSON lines have one object on each line";
                return Err(Error::sample(what));
            }
            let read = match (&wanted, &self.wanted) {
                (Some(wanted), Some(names)) => extract(line, wanted, &mut found).map(|()| {
                    let pairs = names.iter().zip(&found).enumerate();
                    pairs.for_each(|(at, (name, raw))| raw.iter().for_each(|raw| see(at, name, raw)));
                }),
                _ => {
                    let mut at = 0;
                    let each = |name: std::borrow::Cow<'_, str>, raw: Raw<'_>| {
                        see(at, &name, &raw);
                        at += 1;
                    };
                    keys(line, each)
                }
            };
            match read {
                Ok(()) => good += 1,
                Err(error) => bad = bad.or(Some(numbered(row, error))),
            }
        }
        match bad {
            Some(error) if good == 0 => Err(error),
            _ => Ok(sketch),
        }
    }

    fn schema(&self, fields: Vec<(Arc<str>, Guess)>) -> Result<Arc<dyn RowSchema>> {
        for name in self.wanted.iter().flatten() {
            if !fields.iter().any(|(known, _)| **known == **name) {
                return Err(Error::plan(
                    "jsonl",
                    format!("there is no field `{name}` in the first {LOOK} rows"),
                ));
            }
        }
        Ok(Arc::new(JsonRows { fields: fields.into() }))
    }
}

/// Returns the line of a row, without the byte order mark that some files start with.
fn text(row: &Row) -> &[u8] {
    if row.number == 0 { unmarked(&row.bytes) } else { &row.bytes }
}

/// The fields of rows and how they are parsed: the same for all files.
#[derive(Debug, Clone)]
struct JsonRows {
    fields: Arc<[(Arc<str>, Guess)]>,
}

impl RowSchema for JsonRows {
    fn fields(&self) -> Fields {
        self.fields.iter().map(|(name, guess)| (Arc::clone(name), guess.spec())).collect()
    }

    fn codec(&self, _: &[u8]) -> Result<Arc<dyn RowCodec>> {
        Ok(Arc::new(self.clone()))
    }
}

impl RowCodec for JsonRows {
    fn records(&self, rows: &[Row], fields: &[Arc<str>], out: &mut Vec<Result<Record>>) {
        let wanted = Wanted::new(fields.iter().map(|name| &**name));
        let kind =
            |name: &Arc<str>| self.fields.iter().find(|(known, _)| known == name).map(|(_, guess)| *guess);
        let kinds: Vec<Guess> = fields.iter().map(|name| kind(name).unwrap_or(Guess::Json)).collect();
        let mut found = vec![None; fields.len()];
        for row in rows {
            let record = extract(text(row), &wanted, &mut found).and_then(|()| {
                let one = |(at, raw): (usize, &Option<Raw<'_>>)| {
                    let made = raw.map_or(Ok(Value::Missing), |raw| value(&raw, kinds[at]));
                    made.map_err(|e| e.in_field(&fields[at]))
                };
                let fields = found.iter().enumerate().map(one).collect::<Result<_>>()?;
                Ok(Record { fields })
            });
            out.push(record.map_err(|e| numbered(row, e)));
        }
    }
}
