//! How shards are cut into rows, and the table of all formats.
//!
//! A [`Format`] finds the rows of a shard once and keeps them in an [`Index`]; after that the byte ranges of a row
//! are arithmetic. What users can name is a [`FormatEntry`] in [`entries`]: opening, detection,
//! `infeed list formats`, messages and the Python functions are made from that table.
//!
//! * [`TarFormat`]: WebDataset tars.
//! * `rows`: JSON lines, CSV, text and TFRecord, whose rows are stored one after the other.
//! * `mds`: MosaicML's shards.
//! * [`LmdbIndex`]: LMDB, where a row is an entry.
//! * [`FolderSource`]: image folders, lists of files and manifests, where a row is a whole file.
//! * `annotated`: images with the annotations of COCO, Pascal VOC and YOLO.
//! * [`Search`] is what front-ends are told of long searches for rows.
//! * [`detect`] finds out which of them a user's files are; `strangers` recognises other kinds of data.
//! * Tables, arrays, trees of ROOT and tokens are entries of the crates `infeed-table`, `infeed-arrays`, `infeed-root` and `infeed-tokens`.

mod annotated;
mod csv;
mod detect;
mod folder;
mod fuzzing;
mod jsonl;
mod lmdb;
mod mds;
mod paths;
pub(crate) mod rows;
mod saved;
mod search;
mod shared;
mod source;
mod strangers;
pub(crate) mod tar;
mod text;
mod tfrecord;

pub use detect::{Detected, detect};
pub use folder::{EXTENSIONS, Endings, FolderSource, is_image};
#[doc(hidden)]
pub use fuzzing::fuzz_index;
pub use lmdb::LmdbIndex;
pub(crate) use paths::not_streamed;
pub use saved::{IndexCache, cache_folder};
pub use search::{Search, SearchHook, on_search};
pub use source::index_all;
pub use tar::{IndexState, IndexedTar, TarFormat, TarIndex, TarSet};

use crate::families;
use infeed_core::{Error, FormatEntry, Result, registry};
use serde_json::{Map, Value as Json};

/// The formats of this crate. Commands and standard input default to the first that reads streams.
const ENTRIES: &[&FormatEntry] = &[
    &tar::ENTRY,
    &jsonl::ENTRY,
    &csv::ENTRY,
    &text::ENTRY,
    &tfrecord::ENTRY,
    &mds::ENTRY,
    &lmdb::ENTRY,
    &folder::FOLDER,
    &folder::FILES,
    &folder::MANIFEST,
    &annotated::COCO,
    &annotated::VOC,
    &annotated::YOLO,
];

/// All formats: those of this crate and of the crates for families of formats.
pub fn entries() -> impl Iterator<Item = &'static FormatEntry> {
    let all = ENTRIES.iter().copied();
    #[cfg(feature = "tables")]
    let all = all.chain(infeed_table::ENTRIES.iter().copied());
    #[cfg(feature = "arrays")]
    let all = all.chain(infeed_arrays::ENTRIES.iter().copied());
    #[cfg(feature = "arrays")]
    let all = all.chain([&infeed_root::ENTRY]);
    #[cfg(feature = "tokens")]
    let all = all.chain([&infeed_tokens::ENTRY]);
    all
}

/// Returns the entry of a name, or an error that lists all names.
pub fn entry(name: &str) -> Result<&'static FormatEntry> {
    entries().find(|entry| entry.name == name).ok_or_else(|| {
        if let Some(error) = families::missing("format", name) {
            return error;
        }
        let names: Vec<&str> = std::iter::once("auto").chain(entries().map(|entry| entry.name)).collect();
        let near =
            registry::nearest(name, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        Error::argument(format!("there is no format `{name}`{near} (there are: {})", names.join(", ")))
    })
}

/// Checks argument names. The error for an unknown one says which format has it.
pub(crate) fn check_arguments(entry: &FormatEntry, given: &Map<String, Json>) -> Result<()> {
    let has = |entry: &FormatEntry, name: &str| entry.params.iter().any(|param| param.name == name);
    let Some(wrong) = given.keys().find(|name| !has(entry, name)) else { return Ok(()) };
    let others: Vec<&str> = entries().filter(|other| has(other, wrong)).map(|other| other.name).collect();
    if others.is_empty() {
        return Ok(());
    }
    let takes: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
    let near = registry::nearest(wrong, &takes).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
    let takes = if takes.is_empty() { "no arguments".to_owned() } else { takes.join(", ") };
    Err(Error::argument(format!(
        "{} has no argument `{wrong}`, which belongs to {}{near} (it takes {takes})",
        entry.name,
        others.join(", ")
    )))
}

/// Returns the layout of a format's rows, for tests of this stage and of streams.
#[cfg(test)]
pub(crate) fn layout_of(
    name: &str,
    args: &Map<String, Json>,
) -> Result<std::sync::Arc<dyn crate::layout::rows::RowLayout>> {
    use std::sync::Arc;
    let entry = entry(name)?;
    let args = infeed_core::Args::new(entry.name, entry.params, args)?;
    Ok(match name {
        "jsonl" => Arc::new(jsonl::make(&args)?),
        "csv" => Arc::new(csv::make(&args)?),
        "text" => Arc::new(text::make(&args)?),
        _ => Arc::new(tfrecord::make(&args)?),
    })
}

#[cfg(test)]
mod tests;
