//! How shards are cut into rows.
//!
//! A [`Format`] finds the rows of a shard once and remembers them in an [`Index`]; from then on which bytes a row
//! needs is arithmetic. Formats are table rows in [`ENTRIES`].
//!
//! * [`TarFormat`]: WebDataset tars.
//! * [`FolderSource`]: image folders, lists of files and manifests, where a row is a whole file.
//! * [`detect`] tells which of them a user's files are.

mod detect;
mod each;
mod folder;
pub(crate) mod tar;

pub use detect::{Detected, detect, is_packed};
pub use folder::{EXTENSIONS, FolderSource, is_image};
pub use tar::{IndexCache, TarFormat, TarIndex, TarSet};

use each::each;
use infeed_core::{Entry, Format, Index, Result, Shard, Store};
use std::sync::Arc;

/// The formats there are.
pub const ENTRIES: &[&Entry<dyn Format>] = &[&tar::ENTRY];

/// Finds the rows of many shards one by one, `threads` shards at a time. Of several bad shards the first one is
/// reported.
pub fn index_all(
    format: &dyn Format,
    store: &dyn Store,
    shards: &[Shard],
    threads: usize,
) -> Result<Vec<Arc<dyn Index>>> {
    each(threads, shards.len(), |at| format.index(store, &shards[at]))
}

#[cfg(test)]
mod tests;
