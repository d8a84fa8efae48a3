//! JSON lines: an object on every line.

use super::{
    rows::{Codec, Head, Layout, Row, RowFormat, Schema, Sketch, numbered},
    shared,
};
use infeed_core::{Args, Entry, Error, Format, Param, Record, Result, Value, format::Fields};
use infeed_records::{
    Guess,
    json::{Raw, Wanted, extract, guess, keys, value},
    split::{Lines, Split},
    text::unmarked,
};
use std::sync::Arc;

/// Rows that are looked at to learn the fields.
const LOOK: usize = 100;

#[derive(Debug)]
struct Jsonl {
    /// Fields that are wanted; all keys when nothing is said.
    wanted: Option<Vec<String>>,
    largest: u64,
}

/// The table row of this format.
pub(super) const ENTRY: Entry<dyn Format> = Entry {
    name: "jsonl",
    about: "JSON lines: an object on every line",
    params: PARAMS,
    build: |args| Ok(Box::new(RowFormat::new(layout(args)?, shared::cache(args)?))),
};

/// The same for streams.
pub(super) const LAYOUT: Entry<dyn Layout> =
    Entry { name: "jsonl", about: ENTRY.about, params: PARAMS, build: |args| Ok(Box::new(make(args)?)) };

const PARAMS: &[Param] = &[
    Param {
        name: "fields",
        python: "list[str] | None",
        default: Some("null"),
        about: "fields to read, `a.b` for the key b of the object a; all keys by default",
    },
    shared::INDEX,
    shared::MAX_ROW,
];

fn make(args: &Args) -> Result<Jsonl> {
    let wanted = shared::names(args, "fields")?;
    Ok(Jsonl { wanted, largest: args.int("max_row", 1)? as u64 })
}

fn layout(args: &Args) -> Result<Arc<dyn Layout>> {
    Ok(Arc::new(make(args)?))
}

impl Layout for Jsonl {
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

    fn sketch(&self, head: &Head) -> Result<Sketch> {
        let mut sketch = Sketch::new();
        let mut see = |at: usize, name: &str, raw: &Raw<'_>| {
            // Rows have the same keys in the same order, as a rule.
            let near = sketch.get(at).is_some_and(|(known, _)| **known == *name).then_some(at);
            match near.or_else(|| sketch.iter().position(|(known, _)| **known == *name)) {
                Some(place) => sketch[place].1 = sketch[place].1.join(guess(raw)),
                None => sketch.push((name.into(), guess(raw))),
            }
        };
        let wanted = self.wanted.as_ref().map(|names| Wanted::new(names.iter().map(String::as_str)));
        let mut found = vec![None; wanted.as_ref().map_or(0, Wanted::len)];
        // A bad line is a bad sample when its turn comes: it must not keep the others from being read.
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

    fn schema(&self, fields: Vec<(Arc<str>, Guess)>) -> Result<Arc<dyn Schema>> {
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

/// The line of a row. A mark of UTF-8 stands before the first one of some files.
fn text(row: &Row) -> &[u8] {
    if row.number == 0 { unmarked(&row.bytes) } else { &row.bytes }
}

/// The fields of rows and what makes them: the same for all files.
#[derive(Debug, Clone)]
struct JsonRows {
    fields: Arc<[(Arc<str>, Guess)]>,
}

impl Schema for JsonRows {
    fn fields(&self) -> Fields {
        self.fields.iter().map(|(name, guess)| (Arc::clone(name), guess.spec())).collect()
    }

    fn codec(&self, _: &[u8]) -> Result<Arc<dyn Codec>> {
        Ok(Arc::new(self.clone()))
    }
}

impl Codec for JsonRows {
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
