//! Reads copies in place of their sources.

use super::{
    in_use::InUse,
    manifest::{Entry, Manifest},
    names, place,
};
use crate::store::LocalStore;
use bytes::Bytes;
use infeed_core::{Cache, Error, Found, Result, Shard, Store, StoreExt, store::below, sync::Hold};
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    io::Read,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// Objects that a store remembers for its description.
const REMEMBERED: usize = 1 << 20;

/// A store whose objects are read from staged copies, where there is one that fits the source as it is now. Names, sizes
/// and versions are those of the sources. A copy that vanishes or fails is given up, and its source read instead.
#[derive(Debug)]
pub struct StagedStore {
    inner: Arc<dyn Store>,
    local: LocalStore,
    copies: HashMap<String, StagedCopy>,
    folders: Vec<PathBuf>,
    /// For each object that was looked at, whether it is read from a copy. By hash: names of a million files are long.
    seen: Mutex<HashMap<u64, bool>>,
    hasher: RandomState,
    /// Keeps other processes from removing the copies.
    _in_use: Vec<Arc<InUse>>,
}

#[derive(Debug)]
struct StagedCopy {
    entry: Entry,
    path: PathBuf,
    /// The copy as a shard of this machine, once it was looked at; `None` if it is not what the manifest says.
    shard: OnceLock<Option<Shard>>,
    /// Whether reading it failed.
    lost: AtomicBool,
}

impl StagedStore {
    /// Reads what `inner` has from the copies in a folder; with `auto`, in all folders that staging finds by itself.
    pub fn new(inner: Arc<dyn Store>, staged: &str) -> Result<Self> {
        match staged {
            "auto" => Self::over(inner, &place::found_folders()),
            folder => Self::over(inner, &[PathBuf::from(folder.strip_prefix("file:").unwrap_or(folder))]),
        }
    }

    /// Reads what `inner` has from the copies in these folders. Of two copies of one source the first is taken.
    pub fn over(inner: Arc<dyn Store>, folders: &[PathBuf]) -> Result<Self> {
        let (mut copies, mut in_use) = (HashMap::new(), Vec::new());
        for folder in folders.iter().filter(|folder| place::is_staged(folder)) {
            in_use.extend(InUse::begin_reading(folder));
            for entry in Manifest::read(folder)?.entries() {
                copies.entry(entry.source.clone()).or_insert_with(|| StagedCopy::new(folder, entry));
            }
        }
        Ok(StagedStore {
            inner,
            local: LocalStore::new(),
            copies,
            folders: folders.to_vec(),
            seen: Mutex::default(),
            hasher: RandomState::new(),
            _in_use: in_use,
        })
    }

    /// Says how many of the objects that were looked at are read from copies.
    pub fn describe(&self) -> String {
        let folders: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        let from = folders.join(", ");
        let seen = self.seen.hold();
        let copies = seen.values().filter(|copy| **copy).count();
        match (copies, seen.len()) {
            _ if self.copies.is_empty() => "nothing: all files are read from where they are".to_owned(),
            (_, 0) => {
                format!("{} copies in {from}; files are looked up when they are read", self.copies.len())
            }
            (copies, all) if copies == all => format!("all of {all} files are read from {from}"),
            (copies, all) => {
                format!("{copies} of {all} files are read from {from}, the others from where they are")
            }
        }
    }

    /// Returns the copy of an object, if it is one of the object as it is now.
    fn copy(&self, shard: &Shard) -> Option<(&StagedCopy, &Shard)> {
        if self.copies.is_empty() {
            return None;
        }
        let copy = self.copies.get(&names::source_name(&*self.inner, &shard.name))?;
        if !copy.entry.fits(shard) || copy.lost.load(Relaxed) {
            return None;
        }
        Some((copy, copy.shard.get_or_init(|| copy.look(&self.local)).as_ref()?))
    }

    /// Remembers where objects are read from.
    fn note(&self, shards: &[Shard]) {
        let look = |shard: &Shard| (self.hasher.hash_one(&*shard.name), self.copy(shard).is_some());
        let looked: Vec<(u64, bool)> = shards.iter().map(look).collect();
        let mut seen = self.seen.hold();
        let room = REMEMBERED.saturating_sub(seen.len());
        seen.extend(looked.into_iter().take(room));
    }

    /// Calls `read` with the copy of an object, or with its source if there is none or it fails.
    fn with_copy<T>(&self, shard: &Shard, read: impl Fn(&dyn Store, &Shard) -> Result<T>) -> Result<T> {
        if let Some((copy, local)) = self.copy(shard) {
            match read(&self.local, local) {
                // A request that no file could answer is not the copy's fault.
                Err(error) if error.is_storage() || matches!(error, Error::NotFound { .. }) => {
                    let read = read(&*self.inner, shard)?;
                    copy.lost.store(true, Relaxed);
                    return Ok(read);
                }
                other => return other,
            }
        }
        read(&*self.inner, shard)
    }
}

impl StagedCopy {
    fn new(folder: &Path, entry: &Entry) -> Self {
        let path = folder.join(&entry.name);
        StagedCopy { entry: entry.clone(), path, shard: OnceLock::new(), lost: AtomicBool::new(false) }
    }

    fn look(&self, local: &LocalStore) -> Option<Shard> {
        let data = std::fs::symlink_metadata(&self.path).ok()?;
        let name = self.path.to_str().filter(|_| self.entry.is(&data))?;
        local.stat_one(name).ok()
    }
}

impl Store for StagedStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let shards = self.inner.list(prefix)?;
        self.note(&shards);
        Ok(shards)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let shards = self.inner.stat(names)?;
        self.note(&shards);
        Ok(shards)
    }

    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        let shards = self.inner.probe(names)?;
        self.note(&shards.iter().flatten().cloned().collect::<Vec<_>>());
        Ok(shards)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.with_copy(shard, |store, shard| store.read(shard, ranges))
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        match self.copy(shard) {
            Some((_, local)) => self.local.will_read(local, ranges),
            None => self.inner.will_read(shard, ranges),
        }
    }

    fn room_ahead(&self) -> Option<u64> {
        self.inner.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.inner.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.inner.forget_ahead();
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.inner.set_memory(bytes);
    }

    fn cache(&self) -> Option<&dyn Cache> {
        self.inner.cache()
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.inner.put(name, bytes)
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        self.with_copy(shard, |store, shard| store.map(shard))
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        self.with_copy(shard, |store, shard| store.stream(shard, from))
    }

    /// Links of a local source are checked where they are; other stores have none, and their copies can be read.
    fn read_below(&self, names: &[String], folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        if names.iter().any(|name| self.inner.local_path(name).is_some()) || self.copies.is_empty() {
            return self.inner.read_below(names, folders, limit);
        }
        let one = |shard: &Shard| {
            below::check_size(&shard.name, shard.size, limit)?;
            self.read_all(shard)
        };
        self.inner.stat(names)?.iter().map(one).collect()
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.inner.names(folder)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        self.inner.find(path)
    }

    /// The copy, for formats that need a file of this machine.
    fn local_path(&self, name: &str) -> Option<PathBuf> {
        let source = names::source_name(&*self.inner, name);
        if self.copies.contains_key(&source)
            && let Ok(shard) = self.inner.stat_one(name)
            && let Some((copy, _)) = self.copy(&shard)
        {
            return Some(copy.path.clone());
        }
        self.inner.local_path(name)
    }
}
