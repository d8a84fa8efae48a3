//! How shards are cut into rows.
//!
//! A [`Format`] finds the rows of a shard once and remembers them in an [`Index`]; from then on which bytes a row
//! needs is arithmetic. Formats are table rows in [`ENTRIES`].
//!
//! * [`TarFormat`]: WebDataset tars.
//! * `rows`: JSON lines, CSV, text and TFRecord, whose rows lie one after the other.
//! * [`open_mds`]: MosaicML's shards.
//! * [`LmdbIndex`]: LMDB, where a row is an entry.
//! * [`FolderSource`]: image folders, lists of files and manifests, where a row is a whole file.
//! * [`detect`] tells which of them a user's files are.

mod csv;
mod detect;
mod folder;
mod jsonl;
mod lmdb;
mod mds;
pub(crate) mod rows;
mod shared;
pub(crate) mod tar;
mod text;
mod tfrecord;

pub use detect::{Detected, belongs, detect, is_packed};
pub use folder::{EXTENSIONS, FolderSource, is_image};
pub use lmdb::LmdbIndex;
pub use mds::open as open_mds;
pub use tar::{IndexCache, TarFormat, TarIndex, TarSet};

use infeed_core::{Entry, Format, Index, Result, Shard, Store, parallel};
use std::sync::Arc;

/// The formats there are.
pub const ENTRIES: &[&Entry<dyn Format>] =
    &[&tar::ENTRY, &jsonl::ENTRY, &csv::ENTRY, &text::ENTRY, &tfrecord::ENTRY, &lmdb::ENTRY];

/// What MDS takes: it is no [`Format`], because its index and its shards are opened together.
pub(crate) const MDS: &Entry<mds::Options> = &mds::ENTRY;

/// Those of them that can be read from front to back too, besides tars.
pub(crate) const LAYOUTS: &[&Entry<dyn rows::Layout>] =
    &[&jsonl::LAYOUT, &csv::LAYOUT, &text::LAYOUT, &tfrecord::LAYOUT];

/// Finds the rows of many shards one by one, `threads` shards at a time. Of several bad shards the first one is
/// reported.
pub fn index_all(
    format: &dyn Format,
    store: &dyn Store,
    shards: &[Shard],
    threads: usize,
) -> Result<Vec<Arc<dyn Index>>> {
    parallel::map(shards.len(), threads, |at| format.index(store, &shards[at]))
}

#[cfg(test)]
mod tests;
