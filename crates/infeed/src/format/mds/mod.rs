//! MDS data sets: `index.json` and its shards, compressed or not.

mod store;

use super::{
    paths::{Places, one_folder},
    rows::RowSet,
};
use crate::{
    layout::rows::{Row, RowCodec, RowPlaces, RowSchema, said},
    read::StoreSource,
};
use infeed_core::{
    Can, Error, FormatEntry, Guess, OpenRequest, Opened, Param, Record, Result, Shards, Source, StoreExt,
    Sure, Value, format::Fields,
};
use infeed_records::mds::{self, Column};
use std::sync::Arc;
use store::{MdsShard, MdsStore};

/// The entry of this format.
pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "mds",
    about: "MosaicML's MDS shards with their index.json",
    details: "Takes the folder or its index.json. The fields are the columns that the index names; images come as their bytes. \
              Shards may be compressed with zstd, gz or bz2; some are kept unpacked in memory. The checksums sha1, md5, xxh64 \
              and crc32 are known.",
    params: &[
        Param {
            name: "check",
            python: "bool",
            default: Some("false"),
            about: "compare the checksums of shards with those of the index",
        },
        Param {
            name: "pickle",
            python: "bool",
            default: Some("false"),
            about: "take columns of pickled objects, as bytes; they are refused otherwise",
        },
    ],
    endings: &[],
    magic: &[],
    can: Can { many: false, ..Can::ROWS },
    recognise: Some(|file| {
        let named = file.name.rsplit('/').next() == Some(INDEX);
        (named && is_index(file.head)).then(|| Guess::new(Sure::Certain))
    }),
    recognise_folder: Some(|folder| {
        let name = format!("{}/{INDEX}", folder.folder.trim_end_matches('/'));
        if !folder.files.contains(&name.as_str()) {
            return Ok(None);
        }
        let shard = folder.store.stat_one(&name)?;
        let head = folder.store.read_one(&shard, 0..shard.size.min(4096))?;
        Ok(is_index(&head).then(|| Guess::new(Sure::Head)))
    }),
    open: |request| open(request).map(Opened::Rows),
};

/// The name of the index.
const INDEX: &str = "index.json";

/// Whether an `index.json` is one of MDS shards: other data sets have a file of that name, too.
fn is_index(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).contains("\"column_encodings\"")
}

/// The arguments of the format.
#[derive(Debug, Clone, Copy)]
struct Options {
    check: bool,
    pickle: bool,
}

/// Opens the data set of a folder, or of an index file.
fn open(request: &OpenRequest<'_>) -> Result<Arc<dyn Source>> {
    let args = request.args()?;
    let options = Options { check: args.flag("check")?, pickle: args.flag("pickle")? };
    let (file, folder) = match one_folder(request)? {
        Places::Folder(folder) => {
            let folder = format!("{}/", folder.trim_end_matches('/'));
            (format!("{folder}{INDEX}"), folder)
        }
        Places::Files(names) => {
            let file = names.into_iter().next().unwrap_or_default();
            let folder = file.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
            (file, folder)
        }
    };
    let local = Arc::clone(request.store);
    let index = local.stat_one(&file).map_err(|e| match e {
        Error::NotFound { path, .. } => {
            Error::NotFound { path, hint: "; an MDS data set has an index.json".to_owned() }
        }
        other => other,
    })?;
    let bytes = local.read_all(&index)?;
    let text = String::from_utf8_lossy(&bytes);
    let shards = mds::parse(&text).map_err(|e| Error::argument(format!("`{file}`: {e}")))?;
    let columns = shards.first().map(|shard| shard.columns.clone()).unwrap_or_default();
    refuse(&text, &columns, options)?;
    let mut parts = vec![];
    for shard in &shards {
        if shard.columns != columns {
            let (first, other) = (&shards[0].raw.basename, &shard.raw.basename);
            return Err(Error::plan(
                "read",
                format!("shards `{first}` and `{other}` have different columns"),
            ));
        }
        parts.push(MdsShard::find(&*local, &folder, shard)?);
    }
    let store = MdsStore::new(local, parts, options.check)?;
    let schema: Arc<dyn RowSchema> = Arc::new(Samples { columns: columns.into() });
    let mut set = RowSet::new(Arc::clone(&schema), shards.len());
    let listed = store.shards();
    for (shard, about) in listed.iter().zip(&shards) {
        let table = mds::table(about.samples).min(shard.size);
        let fault = |what: String| Error::Format { shard: shard.name.to_string(), offset: 0, what };
        let head = store.read_one(shard, 0..table)?;
        let (start, lens) = mds::samples(&head, shard.size).map_err(|e| fault(said(e)))?;
        if lens.len() as u64 != about.samples {
            return Err(fault(format!("it has {} samples, its index says {}", lens.len(), about.samples)));
        }
        let mut found = RowPlaces::new(start, false);
        lens.into_iter().try_for_each(|len| found.push(len, 0))?;
        set.push(found, Some(schema.codec(&[])?));
    }
    Ok(Arc::new(StoreSource::over(Arc::new(store), "mds", Shards::new(&listed)?, Arc::new(set))?))
}

/// Refuses unknown encodings, and pickled objects, which are not safe to load.
fn refuse(text: &str, columns: &[Column], options: Options) -> Result<()> {
    let written: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let encoding =
        |at: usize| written["shards"][0]["column_encodings"][at].as_str().unwrap_or_default().to_owned();
    for (at, column) in columns.iter().enumerate() {
        let (name, encoding) = (&column.name, encoding(at));
        if column.encoding.is_none() {
            return Err(Error::plan(
                "mds",
                format!("column `{name}` has the encoding `{encoding}`, which is not known"),
            ));
        }
        if encoding == "pkl" && !options.pickle {
            let what = "holds pickled objects, which can run anything when they are loaded; pickle=True gives their bytes";
            return Err(Error::plan("mds", format!("column `{name}` {what}")));
        }
    }
    Ok(())
}

/// The columns of samples and how they are parsed.
#[derive(Debug, Clone)]
struct Samples {
    columns: Arc<[Column]>,
}

impl RowSchema for Samples {
    fn fields(&self) -> Fields {
        let known = self
            .columns
            .iter()
            .filter_map(|column| Some((column.name.as_str().into(), column.encoding.as_ref()?.spec())));
        known.collect()
    }

    fn codec(&self, _: &[u8]) -> Result<Arc<dyn RowCodec>> {
        Ok(Arc::new(self.clone()))
    }
}

impl RowCodec for Samples {
    fn records(&self, rows: &[Row], fields: &[Arc<str>], out: &mut Vec<Result<Record>>) {
        let at = |name: &Arc<str>| self.columns.iter().position(|column| *column.name == **name);
        let wanted: Vec<Option<usize>> = fields.iter().map(at).collect();
        let mut found = vec![];
        for row in rows {
            let record = mds::columns(&row.bytes, &self.columns, &mut found).and_then(|()| {
                let value = |(field, at): (&Arc<str>, &Option<usize>)| match at
                    .and_then(|at| Some((at, self.columns[at].encoding.as_ref()?)))
                {
                    None => Ok(Value::Missing),
                    Some((at, encoding)) => mds::decode(&row.bytes.slice(found[at].clone()), encoding)
                        .map_err(|e| e.in_field(field)),
                };
                Ok(Record { fields: fields.iter().zip(&wanted).map(value).collect::<Result<_>>()? })
            });
            out.push(record);
        }
    }
}
