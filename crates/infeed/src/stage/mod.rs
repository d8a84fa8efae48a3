//! Staging: copies of shards on storage of the node.
//!
//! [`stage`] copies what paths and patterns stand for into a folder, from any store, with several threads and in large
//! pieces. It can be stopped or killed at any time, and goes on where it was. Several processes may stage into one folder:
//! no file is copied twice. [`StagedStore`] then reads the copies in place of their sources, under the sources' names, so
//! that indices, ledgers and states are those of the sources.
//!
//! | file in the folder | is |
//! |---|---|
//! | `infeed-stage.json` | the list of complete copies, with size, version and checksum of each ([`Entry`]) |
//! | `.NAME.part`, `.NAME.part.pieces` | an unfinished copy, and which pieces of it are done |
//! | `.infeed-stage.log`, `.lock`, `.use` | what is newer than the list; its lock; the lock of those who use the copies |

mod copy;
mod in_use;
mod manifest;
mod names;
mod part;
mod pieces;
mod place;
mod share;
mod space;
mod store;
mod sys;
#[cfg(test)]
mod tests;

pub use in_use::{Removed, clean_up};
pub use manifest::Entry;
pub use place::{Place, found_folders};
pub use share::Share;
pub use store::StagedStore;
pub(crate) use sys::user;

use crate::order::World;
use copy::Copying;
use in_use::InUse;
use infeed_core::{Error, Result, Store, parallel, sync::Hold};
use manifest::Manifest;
use names::Item;
use space::check_space;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Threads, unless the user says how many: enough for the queues of a disk or of a server, and 64 MiB of pieces.
const THREADS: usize = 8;
/// Copies that are looked at together by one thread.
const WORTH: usize = 256;

/// What to stage, and how.
#[derive(Debug, Clone)]
pub struct Staging {
    /// Paths and patterns, as for reading.
    pub sources: Vec<String>,
    /// The folder; found by itself if it is not given.
    pub folder: Option<PathBuf>,
    /// Reads every copy back and compares checksums, those that were there before included.
    pub verify: bool,
    /// Who divides the files among themselves.
    pub share: Option<Share>,
    /// The rank of this process, for shares.
    pub world: World,
    /// Copying threads.
    pub threads: Option<usize>,
}

impl Staging {
    /// Stages these paths with the defaults.
    pub fn new(sources: Vec<String>) -> Self {
        Staging { sources, folder: None, verify: false, share: None, world: World::alone(), threads: None }
    }
}

/// How far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The folder.
    pub folder: PathBuf,
    /// Files that are done, of those that were missing.
    pub files: u64,
    /// Files that were missing.
    pub files_total: u64,
    /// Bytes that are done, of those that were missing.
    pub bytes: u64,
    /// Bytes that were missing.
    pub bytes_total: u64,
    /// Bytes that this process read from the sources.
    pub copied: u64,
    /// Files that this process waits for, because others copy them.
    pub waiting: u64,
}

/// Files that were staged. The folder counts as used for as long as this lives.
#[derive(Debug)]
pub struct Staged {
    /// The folder, and where it comes from.
    pub place: Place,
    /// The copies of the files and folders that the sources name, as paths.
    pub roots: Vec<PathBuf>,
    /// Files and bytes of all sources.
    pub files: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Files that were there and complete.
    pub kept: u64,
    /// What was done.
    pub progress: Progress,
    /// How long it took.
    pub took: Duration,
    /// Whether `watch` stopped it.
    pub stopped: bool,
    in_use: Arc<InUse>,
}

impl Staged {
    /// Removes the copies, unless another process uses them.
    pub fn clean_up(&self) -> Result<Option<Removed>> {
        self.in_use.remove(false)
    }

    /// Removes the copies if this is the last process that uses them. For its end: it must not use them any more.
    pub fn leave(&self) -> Result<Option<Removed>> {
        self.in_use.remove(true)
    }
}

/// Stages files. `watch` sees the progress a few times a second; when it returns false the copying stops, and another call
/// goes on from there.
pub fn stage(
    store: &dyn Store,
    staging: &Staging,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Staged> {
    let started = Instant::now();
    let layout = names::lay_out(store, &staging.sources)?;
    let place = match &staging.folder {
        Some(folder) => Place { folder: checked(folder)?, from: "given".to_owned() },
        None => place::found(&layout.above)?,
    };
    let folder = std::path::absolute(&place.folder)
        .map_err(|e| Error::io("look at", place.folder.display().to_string(), e))?;
    let place = Place { folder: folder.clone(), ..place };
    if let Some(source) = layout.folders.iter().find(|source| folder.starts_with(source)) {
        return Err(Error::argument(format!(
            "cannot stage `{source}` into `{}`, which is a part of it: the next run would copy the copies",
            folder.display()
        )));
    }
    let in_use = InUse::begin(&folder)?;
    let mine = mine(&layout.items, staging);
    // In this order: what others write meanwhile is counted as there rather than as missing twice.
    let free = sys::free_space(&folder)?;
    let mut manifest = Manifest::read(&folder)?;
    let missing = missing(&folder, &mut manifest, &mine, staging.verify)?;
    let bytes: u64 = missing.iter().map(|item| item.shard.size).sum();
    check_space(&folder, &missing, bytes, free)?;
    let mut progress = Progress {
        folder: folder.clone(),
        files_total: missing.len() as u64,
        bytes_total: bytes,
        ..Progress::default()
    };
    let threads = staging.threads.unwrap_or(THREADS).max(1);
    let copying =
        Copying { store, folder: &folder, verify: staging.verify, threads, manifest: Mutex::new(manifest) };
    let copied = copying.run(&missing, &mut progress, watch);
    // The list is brought up to date whatever happened; if that fails, too, the log stays.
    let settled = copying.manifest.hold().settle();
    let whole = copied?;
    settled?;
    Ok(Staged {
        roots: layout.roots.iter().map(|root| folder.join(root)).collect(),
        place,
        files: layout.items.len() as u64,
        bytes: layout.items.iter().map(|item| item.shard.size).sum(),
        kept: (mine.len() - missing.len()) as u64,
        progress,
        took: started.elapsed(),
        stopped: !whole,
        in_use,
    })
}

/// The files that this process stages, in its order.
fn mine<'a>(items: &'a [Item], staging: &Staging) -> Vec<&'a Item> {
    let Some(share) = staging.share else { return items.iter().collect() };
    let (rank, ranks) = share.place(&staging.world);
    let owners = share::owners(items, ranks);
    let of = |wanted: u64| {
        items.iter().zip(&owners).filter(move |(_, owner)| **owner == wanted).map(|(item, _)| item)
    };
    match share {
        Share::Job => of(rank).collect(),
        // Then those of the others, each rank beginning with its neighbour.
        Share::Node => (0..ranks).flat_map(|step| of((rank + step) % ranks)).collect(),
    }
}

/// The files whose copies are not there, or not complete, or not of the source as it is now.
fn missing<'a>(
    folder: &Path,
    manifest: &mut Manifest,
    items: &[&'a Item],
    verify: bool,
) -> Result<Vec<&'a Item>> {
    let worth = if verify { 1 } else { WORTH };
    let look = |manifest: &Manifest| {
        parallel::map_slice(items, THREADS, worth, |item| is_missing(folder, manifest, item, verify))
    };
    // Another process may have made a copy since the manifest was read. One that a manifest does not know which was read after the
    // copy was seen is nobody's.
    let mut seen: HashSet<String> = HashSet::new();
    let missing = loop {
        match look(manifest) {
            Ok(missing) => break missing,
            Err(error) if !seen.insert(error.to_string()) => return Err(error),
            Err(_) => manifest.refresh()?,
        }
    };
    // A copy that fails the comparison must not be found complete later on.
    for (item, _) in items.iter().zip(&missing).filter(|(_, missing)| verify && **missing) {
        let _ = std::fs::remove_file(folder.join(&item.name));
    }
    Ok(items.iter().zip(missing).filter(|(_, missing)| *missing).map(|(item, _)| *item).collect())
}

fn is_missing(folder: &Path, manifest: &Manifest, item: &Item, verify: bool) -> Result<bool> {
    let path = folder.join(&item.name);
    let Ok(copy) = std::fs::symlink_metadata(&path) else { return Ok(true) };
    match manifest.get(&item.name) {
        None => Err(foreign(&path, "it was not staged")),
        Some(entry) if entry.source != item.source => {
            Err(foreign(&path, &format!("it is a copy of `{}`", entry.source)))
        }
        Some(entry) if entry.fits(&item.shard) && entry.is(&copy) => {
            let sum = || pieces::sum_of_file(&path, entry.size).ok();
            Ok(verify && sum().is_none_or(|sum| format!("{sum:08x}") != entry.crc32c))
        }
        Some(_) => Ok(true),
    }
}

fn foreign(path: &Path, what: &str) -> Error {
    Error::argument(format!(
        "`{}` is in the way: {what}; remove it, or stage into another folder",
        path.display()
    ))
}

/// Refuses a destination that cannot be one, before anything is read.
fn checked(folder: &Path) -> Result<PathBuf> {
    let text = folder.to_string_lossy();
    if text.contains("://") {
        return Err(Error::argument(format!("cannot stage into `{text}`: give a folder of this machine")));
    }
    let folder = PathBuf::from(text.strip_prefix("file:").unwrap_or(&text));
    if folder.is_file() {
        return Err(Error::argument(format!(
            "cannot stage into `{}`: it is a file; the folder to stage into comes last",
            folder.display()
        )));
    }
    Ok(folder)
}
