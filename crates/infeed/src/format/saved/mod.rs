//! What is found out about a file once and kept for the next run: where its rows are.
//!
//! A saved file holds the size and modification time of its shard; if either differs it is ignored and made again. It ends
//! with a checksum, so a truncated or damaged file is ignored too. A shard can get its old modification time back (`cp -p`,
//! `rsync -t`, a restored backup), but its ctime then is later than the saved file: such a file is only used after a look at
//! the shard itself. Failing to save is no error: data sets are often read-only.

pub(super) mod file;

use infeed_core::{Error, Result, Shard, Store, StoreExt};
use std::{
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A file is saved if making its content took longer than this: otherwise data sets of small local files would only fill
/// the cache folder.
pub(super) const SLOW: Duration = Duration::from_millis(50);

/// The largest file beside a shard that is read. The index of a tar takes some thousandths of it.
const LARGEST_SIDECAR: u64 = 4 << 30;

/// Where indices are saved between runs. With every choice except [`IndexCache::Off`], one beside its shard is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum IndexCache {
    /// In the user's cache folder, if making the index took long: `$INFEED_CACHE/index`, or else
    /// `$XDG_CACHE_HOME/infeed/index`, or else `~/.cache/infeed/index`.
    #[default]
    Auto,
    /// Nowhere, and saved ones are not used.
    Off,
    /// Beside the shard, as `SHARD.infeed-index`; 64 shards and more share one `.infeed-set` beside the first.
    Beside,
    /// In this folder.
    Folder(PathBuf),
}

/// A file that was saved for a shard.
pub(super) struct SavedFile {
    pub(super) bytes: Vec<u8>,
    /// Whether the shard was changed after it, in whatever way: then its content has to be compared with the shard.
    pub(super) older: bool,
    /// Whether it lies beside a shard in a remote store. Both may have been copied there, so that the shard's tag is another one
    /// than that of the shard it was made for.
    pub(super) copied: bool,
}

/// Where a file is saved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On this machine.
    File(PathBuf),
    /// In the store of its shard.
    Object(String),
}

impl SavedFile {
    /// Reads a file of this machine.
    pub(super) fn open(path: &Path, shard: &Shard, far: bool) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let older = !far && is_older(&file, shard.version);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Some(SavedFile { bytes, older, copied: false })
    }
}

impl IndexCache {
    /// Returns the first saved file with this suffix that `read` can make something of.
    pub(super) fn load<T>(
        &self,
        store: &dyn Store,
        shard: &Shard,
        suffix: &str,
        read: impl Fn(&SavedFile) -> Option<T>,
    ) -> Option<T> {
        self.load_here(store, shard, suffix, &read).or_else(|| {
            let sidecar = self.sidecars(store, std::slice::from_ref(shard), suffix).pop()??;
            load_sidecar(store, &sidecar, read)
        })
    }

    /// Like [`IndexCache::load`], with files of this machine alone.
    pub(super) fn load_here<T>(
        &self,
        store: &dyn Store,
        shard: &Shard,
        suffix: &str,
        read: impl Fn(&SavedFile) -> Option<T>,
    ) -> Option<T> {
        if *self == IndexCache::Off || !is_known(store, shard) {
            return None;
        }
        let far = is_far(store, &shard.name);
        let near = (!far).then(|| PathBuf::from(beside(shard, suffix)));
        let places = [near, self.folder().and_then(|f| inside(&f, shard, suffix, far))];
        places.into_iter().flatten().find_map(|place| read(&SavedFile::open(&place, shard, far)?))
    }

    /// Returns the saved files beside these shards of a remote store, as far as there are any. One question for all of them.
    pub(super) fn sidecars(&self, store: &dyn Store, shards: &[Shard], suffix: &str) -> Vec<Option<Shard>> {
        let used =
            |shard: &Shard| *self != IndexCache::Off && is_far(store, &shard.name) && is_known(store, shard);
        let names: Vec<String> =
            shards.iter().filter(|shard| used(shard)).map(|shard| beside(shard, suffix)).collect();
        // What cannot be asked for is not there: the rows are found by reading.
        let found = if names.is_empty() { Vec::new() } else { store.probe(&names).unwrap_or_default() };
        let mut found = found.into_iter();
        shards.iter().map(|shard| if used(shard) { found.next().flatten() } else { None }).collect()
    }

    /// Saves a file with this suffix for the next run, if wanted and possible.
    pub(super) fn save(&self, store: &dyn Store, shard: &Shard, suffix: &str, bytes: &[u8]) {
        // If the folder is not writable, the next run finds the rows again.
        let _ = self.try_save(store, shard, suffix, bytes);
    }

    /// Saves a file with this suffix. Without a place for it, nothing is done.
    pub(super) fn try_save(
        &self,
        store: &dyn Store,
        shard: &Shard,
        suffix: &str,
        bytes: &[u8],
    ) -> Result<()> {
        match self.place(store, shard, suffix) {
            None => Ok(()),
            Some(Place::Object(name)) => store.put(&name, bytes.to_vec().into()),
            Some(Place::File(path)) => file::write(&path, |file| file.write_all(bytes))
                .map_err(|e| Error::io("write", path.display().to_string(), e)),
        }
    }

    /// Where a file of a shard is saved, if it is.
    pub(super) fn place(&self, store: &dyn Store, shard: &Shard, suffix: &str) -> Option<Place> {
        if *self == IndexCache::Off || !is_known(store, shard) {
            return None;
        }
        let far = is_far(store, &shard.name);
        match self {
            IndexCache::Beside if far => Some(Place::Object(beside(shard, suffix))),
            IndexCache::Beside => Some(Place::File(PathBuf::from(beside(shard, suffix)))),
            _ => self.folder().and_then(|folder| inside(&folder, shard, suffix, far)).map(Place::File),
        }
    }

    /// How long making an index must take to be saved. With an explicit location it is always saved.
    pub(super) fn patience(&self) -> Duration {
        if *self == IndexCache::Auto { SLOW } else { Duration::ZERO }
    }

    pub(super) fn folder(&self) -> Option<PathBuf> {
        match self {
            IndexCache::Off | IndexCache::Beside => None,
            IndexCache::Folder(folder) => Some(folder.clone()),
            IndexCache::Auto => cache_folder().map(|cache| cache.join("index")),
        }
    }
}

/// Reads a saved file that lies beside a shard of a remote store.
pub(super) fn load_sidecar<T>(
    store: &dyn Store,
    sidecar: &Shard,
    read: impl Fn(&SavedFile) -> Option<T>,
) -> Option<T> {
    // Its size is the server's word.
    if sidecar.size > LARGEST_SIDECAR {
        return None;
    }
    let bytes = store.read_all(sidecar).ok()?.to_vec();
    read(&SavedFile { bytes, older: false, copied: true })
}

/// Returns the user's cache folder: `$INFEED_CACHE`, or else `$XDG_CACHE_HOME/infeed`, or else `~/.cache/infeed`.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("INFEED_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("infeed")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/infeed")))
}

/// Whether name, size and time, or the tag of a remote object, identify the shard reliably across runs.
pub(super) fn is_known(store: &dyn Store, shard: &Shard) -> bool {
    on_disk(store, shard) || shard.modified.is_some() && is_far(store, &shard.name)
}

/// Whether an object lies in a remote store.
pub(super) fn is_far(store: &dyn Store, name: &str) -> bool {
    name.contains("://") && store.room_ahead().is_some() && store.local_path(name).is_none()
}

/// Whether the shard is a local file.
fn on_disk(store: &dyn Store, shard: &Shard) -> bool {
    let same = |path| std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() == shard.size);
    shard.modified.is_some() && store.local_path(&shard.name).is_some_and(same)
}

/// Whether a saved file was written before the shard, of this version, was last changed.
pub(super) fn is_older(file: &File, version: Option<u64>) -> bool {
    let written = file.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let written = written.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    // File systems count in ticks of some milliseconds: a change in the same tick may have come after.
    version.is_none_or(|changed| u128::from(changed) >= written)
}

fn beside(shard: &Shard, suffix: &str) -> String {
    format!("{}.{suffix}", shard.name)
}

fn inside(folder: &Path, shard: &Shard, suffix: &str, far: bool) -> Option<PathBuf> {
    let whole = if far { PathBuf::from(&*shard.name) } else { std::path::absolute(&*shard.name).ok()? };
    Some(folder.join(format!("{:016x}.{suffix}", file::hash(whole.to_str()?.as_bytes()))))
}
