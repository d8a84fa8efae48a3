//! How shards are cut into rows.
//!
//! A [`Format`] finds the rows of a shard once and remembers them in an [`Index`]; from then on which bytes a row
//! needs is arithmetic. Formats are table rows in [`ENTRIES`].
//!
//! * [`TarFormat`]: WebDataset tars.
//! * [`FolderSource`]: image folders, lists of files and manifests, where a row is a whole file.
//! * [`detect`] tells which of them a user's files are.

mod detect;
mod folder;
pub(crate) mod tar;

pub use detect::{Detected, detect, is_packed};
pub use folder::{EXTENSIONS, FolderSource, is_image};
pub use tar::{IndexCache, TarFormat, TarIndex};

use infeed_core::{Entry, Error, Format, Index, Result, Shard, Store};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// The formats there are.
pub const ENTRIES: &[&Entry<dyn Format>] = &[&tar::ENTRY];

/// Finds the rows of many shards, `threads` shards at a time. Of several bad shards the first one is reported.
pub fn index_all(
    format: &dyn Format,
    store: &dyn Store,
    shards: &[Shard],
    threads: usize,
) -> Result<Vec<Arc<dyn Index>>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let found: Vec<OnceLock<Result<Arc<dyn Index>>>> = shards.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        // Shards are taken in order, so when one fails all before it are done or in hand, and the first fault of the
        // list is among those found.
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(shard) = shards.get(at) else { break };
            let index = format.index(store, shard);
            if index.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            // Each place is filled by whoever took its number, so it is empty.
            let _ = found[at].set(index);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(shards.len()) {
            scope.spawn(work);
        }
        work();
    });
    let lost = || Err(Error::Internal { what: "a shard was passed over while indexing".to_owned() });
    found.into_iter().map(|place| place.into_inner().unwrap_or_else(lost)).collect()
}

#[cfg(test)]
mod tests;
