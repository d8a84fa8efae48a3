//! TFRecord files. A row is a record: its bytes as they are, or the features of the `tf.train.Example` in it.

mod find;

use super::{rows, saved::IndexCache, shared};
use crate::layout::rows::{FirstRows, Row, RowCodec, RowLayout, RowPlaces, RowSchema, Sketch};
use infeed_core::{
    Args, Can, Error, FieldSpec, FileLook, FormatEntry, Param, Record, Result, Shard, Store, Sure, Value,
    format::Fields, opening,
};
use infeed_records::{
    Guess,
    split::Split,
    tfrecord::{self, FeatureKind, Records},
};
use std::sync::Arc;

/// Records that are read to learn the features.
const LOOK: usize = 100;
/// The field of a record that is not parsed.
const RECORD: &str = "record";

/// What records are parsed into.
#[derive(Debug, Clone)]
enum Wanted {
    /// Their bytes.
    Raw,
    /// The features of the first records.
    Auto,
    /// These features.
    Given(Arc<[(Arc<str>, FeatureKind)]>),
}

#[derive(Debug, Clone)]
pub(super) struct TfRecord {
    wanted: Wanted,
    check: bool,
    /// Whether index files beside the shards are used.
    index: bool,
    largest: u64,
}

/// The entry of this format.
pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "tfrecord",
    about: "TFRecord files, with the tf.train.Example in their records",
    details: "Field: `record`, the bytes of a record, or the features of the tf.train.Example in it. One number is a scalar, several are an \
              array. The checksums of lengths are always compared.",
    params: PARAMS,
    endings: &[".tfrecord", ".tfrecords"],
    magic: &[],
    can: Can { stream: true, ..Can::ROWS },
    recognise: Some(recognise),
    recognise_folder: None,
    open: |request| {
        let layout = make(&request.args()?)?;
        let cache = if layout.index { IndexCache::Auto } else { IndexCache::Off };
        rows::open(request, Arc::new(layout), cache)
    },
};

/// Recognises a record by the checksum of its length.
fn recognise(file: &FileLook<'_>) -> Option<opening::Guess> {
    match (ENTRY.has_ending(file.name), tfrecord::length(file.head).is_some()) {
        (true, true) => Some(opening::Guess::new(Sure::Certain)),
        (true, false) => Some(opening::Guess::new(Sure::Name)),
        (false, true) => Some(opening::Guess::new(Sure::Head)),
        (false, false) => None,
    }
}

const PARAMS: &[Param] = &[
    Param {
        name: "features",
        python: "Mapping[str, str] | str | None",
        default: Some("null"),
        about: "features of tf.train.Example: a dict of name and type (bytes, text, int64, float32[3], int64[]), or auto; \
                None gives the record as it is",
    },
    Param {
        name: "check",
        python: "bool",
        default: Some("true"),
        about: "compare the checksum of every record",
    },
    Param {
        name: "index",
        python: "str | os.PathLike[str]",
        default: Some("\"auto\""),
        about: "auto uses an index file beside the shard where there is one, and keeps what it found; off does neither",
    },
    shared::MAX_ROW,
];

pub(super) fn make(args: &Args) -> Result<TfRecord> {
    let wanted = match args.pairs("features")? {
        Some(pairs) => {
            let one = |(name, text): (String, String)| {
                let wrong = || args.error("features", &format!("has an unknown type `{text}` for `{name}`"));
                Ok((name.as_str().into(), FeatureKind::parse(&text).ok_or_else(wrong)?))
            };
            Wanted::Given(pairs.into_iter().map(one).collect::<Result<_>>()?)
        }
        None if args.is_none("features") => Wanted::Raw,
        None if args.text("features").is_ok_and(|text| text == "auto") => Wanted::Auto,
        None => return Err(args.error("features", "must be a dict of names and types, auto or None")),
    };
    let index = match args.text("index")? {
        "auto" => true,
        "off" => false,
        _ => return Err(args.error("index", "must be auto or off")),
    };
    Ok(TfRecord { wanted, check: args.flag("check")?, index, largest: args.int("max_row", 1)? as u64 })
}

impl RowLayout for TfRecord {
    fn name(&self) -> &'static str {
        "tfrecord"
    }

    fn splitter(&self) -> Box<dyn Split> {
        Box::new(Records::new(self.largest))
    }

    fn numbered(&self) -> bool {
        false
    }

    fn largest(&self) -> u64 {
        self.largest
    }

    fn tag(&self) -> String {
        String::new()
    }

    fn find(&self, store: &dyn Store, shard: &Shard) -> Result<Option<RowPlaces>> {
        find::find(store, shard, self.index, self.largest).map(Some)
    }

    fn is_plain(&self, start: &[u8]) -> bool {
        // A record of 35,615 bytes starts like gzip data, but gzip data does not have this checksum.
        tfrecord::length(start).is_some()
    }

    fn look(&self) -> usize {
        if matches!(self.wanted, Wanted::Auto) { LOOK } else { 0 }
    }

    fn sketch(&self, head: &FirstRows) -> Result<Sketch> {
        let mut sketch: Vec<(Arc<str>, Option<Guess>)> = vec![];
        if !matches!(self.wanted, Wanted::Auto) {
            return Ok(vec![]);
        }
        for row in &head.rows {
            let record = row.bytes.slice(tfrecord::record(&row.bytes, self.check)?);
            tfrecord::features(&record, |name, values| {
                let guess = tfrecord::guess(&values()?);
                let name = String::from_utf8_lossy(name);
                match sketch.iter_mut().find(|(known, _)| **known == *name) {
                    Some((_, known)) => *known = known.and_then(|known| known.meet(guess?)),
                    None => sketch.push(((&*name).into(), guess)),
                }
                Ok(())
            })?;
        }
        // Features with several byte strings, or of varying type, do not become fields.
        Ok(sketch.into_iter().filter_map(|(name, guess)| Some((name, guess?))).collect())
    }

    fn schema(&self, mut fields: Vec<(Arc<str>, Guess)>) -> Result<Arc<dyn RowSchema>> {
        // The features of a record have no order of their own.
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        let features = match &self.wanted {
            Wanted::Raw => None,
            Wanted::Given(features) => Some(Arc::clone(features)),
            Wanted::Auto => {
                let spec = |guess: Guess| match guess {
                    Guess::Unknown => FieldSpec::encoded(),
                    Guess::Empty => Guess::Ints.spec(),
                    other => other.spec(),
                };
                Some(
                    fields
                        .into_iter()
                        .map(|(name, guess)| (name, FeatureKind { spec: spec(guess) }))
                        .collect(),
                )
            }
        };
        if features.as_ref().is_some_and(|features| features.is_empty()) {
            let what = format!("the first {LOOK} records have no features: are they tf.train.Example?");
            return Err(Error::plan("tfrecord", what));
        }
        Ok(Arc::new(Examples { features, check: self.check }))
    }
}

/// Features with their types.
type Wants = Arc<[(Arc<str>, FeatureKind)]>;

/// The fields of records and how they are parsed.
#[derive(Debug, Clone)]
struct Examples {
    features: Option<Wants>,
    check: bool,
}

impl RowSchema for Examples {
    fn fields(&self) -> Fields {
        match &self.features {
            None => vec![(RECORD.into(), FieldSpec::encoded())],
            Some(all) => all.iter().map(|(name, kind)| (Arc::clone(name), kind.spec.clone())).collect(),
        }
    }

    fn codec(&self, _: &[u8]) -> Result<Arc<dyn RowCodec>> {
        Ok(Arc::new(self.clone()))
    }
}

impl RowCodec for Examples {
    fn records(&self, rows: &[Row], fields: &[Arc<str>], out: &mut Vec<Result<Record>>) {
        let kinds: Vec<Option<&FeatureKind>> = fields
            .iter()
            .map(|name| {
                self.features
                    .iter()
                    .flat_map(|all| all.iter())
                    .find(|(known, _)| known == name)
                    .map(|(_, k)| k)
            })
            .collect();
        for row in rows {
            out.push(self.record(row, fields, &kinds));
        }
    }
}

impl Examples {
    fn record(&self, row: &Row, fields: &[Arc<str>], kinds: &[Option<&FeatureKind>]) -> Result<Record> {
        let record = row.bytes.slice(tfrecord::record(&row.bytes, self.check)?);
        let mut values = vec![Value::Missing; fields.len()];
        if self.features.is_none() {
            for (field, value) in fields.iter().zip(&mut values).filter(|(field, _)| ***field == *RECORD) {
                let _ = field;
                *value = Value::Bytes(record.clone());
            }
            return Ok(Record { fields: values });
        }
        tfrecord::features(&record, |name, found| {
            let wanted = fields.iter().position(|field| field.as_bytes() == name);
            if let Some((at, kind)) = wanted.and_then(|at| Some((at, kinds[at]?))) {
                values[at] = tfrecord::value(found()?, kind, &record).map_err(|e| e.in_field(&fields[at]))?;
            }
            Ok(())
        })?;
        Ok(Record { fields: values })
    }
}
