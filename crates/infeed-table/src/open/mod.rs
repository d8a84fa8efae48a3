//! Opens a source from paths and arguments; also the table of formats.

pub(crate) mod args;
mod fields;
pub(crate) mod files;
pub(crate) mod hugging_face;
pub(crate) mod params;

use crate::{
    field::even,
    shard::{Blocks, avro, bytes::ShardBytes, csv, depth, ipc, limit::BlockLimit, parquet, sqlite},
    source::TableSource,
};
use args::TableArgs;
use infeed_core::{
    Error, FileLook, FolderLook, FormatEntry, Found, Guess, OpenRequest, Opened, Result, Shard, Source,
    Stamp, Store, StoreExt, Sure, parallel, registry,
};
use serde_json::{Map, Value as Json, json};
use std::{cmp::Reverse, sync::Arc};

/// Opens files as shards, in order.
type OpenShards = fn(&ShardFiles<'_>) -> Result<Vec<Arc<dyn Blocks>>>;

/// A format of tables: its entry, and how its shards are opened.
pub(crate) struct TableFormat {
    pub(crate) entry: FormatEntry,
    pub(crate) shards: OpenShards,
    /// Whether folders may be Hugging Face data sets.
    pub(crate) data_sets: bool,
}

#[rustfmt::skip] // one line each
const FORMATS: &[&TableFormat] = &[
    &parquet::FORMAT,
    &ipc::FORMAT,
    &avro::FORMAT,
    &sqlite::FORMAT,
    &csv::FORMAT,
];

/// The table of formats.
pub const ENTRIES: &[&FormatEntry] = &entries();

const fn entries() -> [&'static FormatEntry; FORMATS.len()] {
    let mut entries = [&FORMATS[0].entry; FORMATS.len()];
    let mut at = 1;
    while at < entries.len() {
        entries[at] = &FORMATS[at].entry;
        at += 1;
    }
    entries
}

/// The files to open as shards of one format.
pub(crate) struct ShardFiles<'a> {
    pub(crate) entry: &'a FormatEntry,
    pub(crate) store: &'a Arc<dyn Store>,
    pub(crate) shards: &'a [Shard],
    pub(crate) args: &'a TableArgs,
    /// What a block of one may take.
    pub(crate) limit: &'a Arc<BlockLimit>,
    /// How many of them may be opened at once.
    pub(crate) threads: usize,
}

impl ShardFiles<'_> {
    /// Calls `work` with the bytes of each file; results are in order.
    pub(crate) fn map<T: Send + Sync>(
        &self,
        work: impl Fn(usize, ShardBytes) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        parallel::map(self.shards.len(), self.threads, |at| {
            work(at, ShardBytes::open(self.store, &self.shards[at], self.args.reading, self.limit)?)
        })
    }

    /// Opens each file independently.
    pub(crate) fn each(
        &self,
        open: impl Fn(ShardBytes) -> Result<Arc<dyn Blocks>> + Sync,
    ) -> Result<Vec<Arc<dyn Blocks>>> {
        self.map(|_, bytes| open(bytes))
    }
}

/// Opens files of the format of the request.
pub(crate) fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let format = format(request.entry.name)?;
    let source = table(format, request)?;
    Ok(Opened::Rows(Arc::new(source)))
}

/// Opens files of one format, an entry of [`ENTRIES`]. Reads footers and headers, and all of a CSV file to find its
/// rows; with `where` also the columns that it names.
pub fn open_table(
    store: &Arc<dyn Store>,
    name: &str,
    paths: &[String],
    given: &Map<String, Json>,
) -> Result<TableSource> {
    let format = format(name)?;
    let request = OpenRequest {
        entry: &format.entry,
        store,
        paths,
        found: None,
        listed: None,
        given,
        threads: parallel::cpus(),
    };
    table(format, &request)
}

fn table(format: &TableFormat, request: &OpenRequest<'_>) -> Result<TableSource> {
    let OpenRequest { store, paths, listed, threads, .. } = *request;
    let args = TableArgs::parse(&request.args()?)?;
    let found = files::expand(format, &**store, paths, listed, args.split.as_deref())?;
    let limit = Arc::new(BlockLimit::default());
    let files =
        ShardFiles { entry: &format.entry, store, shards: &found, args: &args, limit: &limit, threads };
    let shards = (format.shards)(&files)?;
    shards.iter().try_for_each(|shard| depth::check(shard.schema(), shard.name()))?;
    let mut columns = fields::columns(&shards, &args)?;
    if args.even_lists {
        even::settle(&mut columns, &shards);
    }
    let fields = fields::fields(&columns, &args)?;
    let mut source = TableSource::new((format.entry.name, store, limit), shards, columns, fields, &args)?;
    if source.shards.len() == found.len() {
        let stamp =
            |(shard, file): (&Arc<dyn Blocks>, &Shard)| Stamp::of(file).filter(|_| shard.shows_changes());
        source.stamps = source.shards.iter().zip(&found).map(stamp).collect();
    }
    Ok(source)
}

/// Returns the format of a file or folder, by its first bytes and its name.
pub fn kind_of(store: &Arc<dyn Store>, path: &str) -> Result<&'static str> {
    let found = store.find(path)?.into_iter().next();
    let guesses: Vec<(&FormatEntry, Guess)> = match &found {
        Some(Found::File(name)) => {
            let shard = store.stat_one(name)?;
            let head = store.read_one(&shard, 0..shard.size.min(HEAD))?;
            let look = FileLook { name, head: &head, size: shard.size, alone: true };
            ENTRIES.iter().filter_map(|entry| Some((*entry, entry.look(&look)?))).collect()
        }
        Some(Found::Folder(folder)) => of_folder(&**store, folder)?,
        None => vec![],
    };
    // The surest guess with the most files; among equals the first in the table.
    let best = guesses.into_iter().min_by_key(|(_, guess)| Reverse((guess.sure, guess.count)));
    best.map(|(entry, _)| entry.name).ok_or_else(|| {
        Error::argument(format!("`{path}` is no table that is known ({}): give format=", names().join(", ")))
    })
}

/// Number of bytes read to recognise a file.
const HEAD: u64 = 4096;

fn of_folder(store: &dyn Store, folder: &str) -> Result<Vec<(&'static FormatEntry, Guess)>> {
    let below = store.names(folder)?;
    let mut out = vec![];
    for entry in ENTRIES {
        // Metadata files that programs leave in folders are not data; those of data sets have other names.
        let own = |name: &&str| !entry.has_ending(name) || files::belongs(entry, folder, name);
        let files: Vec<&str> = below.iter().map(String::as_str).filter(own).collect();
        let count = files.iter().filter(|name| entry.has_ending(name)).count();
        let guess = match entry.recognise_folder {
            Some(recognise) => recognise(&FolderLook { folder, files: &files, store })?,
            None => (count > 0).then_some(Guess { sure: Sure::Name, count }),
        };
        out.extend(guess.map(|guess| (*entry, guess)));
    }
    Ok(out)
}

/// Describes a table as JSON: rows, blocks, and for every field its name, type and whether it is a single number.
pub fn info(store: &Arc<dyn Store>, name: &str, paths: &[String], given: &Map<String, Json>) -> Result<Json> {
    let source = open_table(store, name, paths, given)?;
    let fields: Vec<Json> = source
        .spec()
        .fields
        .iter()
        .map(|(name, spec)| {
            let number = spec.shape.is_empty() && spec.fixed_bytes().is_some();
            json!({"name": &**name, "spec": spec.to_string(), "dtype": spec.dtype.name(), "number": number})
        })
        .collect();
    Ok(json!({"rows": source.rows(), "blocks": source.block_rows().len(), "fields": fields}))
}

fn names() -> Vec<&'static str> {
    ENTRIES.iter().map(|entry| entry.name).collect()
}

fn format(name: &str) -> Result<&'static TableFormat> {
    FORMATS.iter().copied().find(|format| format.entry.name == name).ok_or_else(|| {
        let names = names();
        let near =
            registry::nearest(name, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        Error::argument(format!("there is no table format `{name}`{near} (there are: {})", names.join(", ")))
    })
}
