//! Indices saved between runs.
//!
//! A saved index holds the size and modification time of its shard; if either differs it is ignored and made again.
//! It ends with a checksum, so a truncated or damaged file is ignored too. Failing to save is no error: data sets are
//! often read-only. The indices of many shards are saved together ([`sets`]).

pub(super) mod codec;
pub(in crate::format) mod file;
mod pieces;
mod set;
mod sets;

use super::TarIndex;
use infeed_core::{Index, Shard, Store};
use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

/// An index is saved if making it took longer than this: otherwise data sets of small local tars would only fill the
/// cache folder.
pub(super) const SLOW: Duration = Duration::from_millis(50);

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

impl IndexCache {
    /// Loads a saved index that matches the shard.
    pub(super) fn load(&self, store: &dyn Store, shard: &Shard) -> Option<TarIndex> {
        if *self == IndexCache::Off || !on_disk(store, shard) {
            return None;
        }
        let places = [Some(beside(shard)), self.folder().and_then(|folder| inside(&folder, shard))];
        places.into_iter().flatten().find_map(|place| {
            let bytes = std::fs::read(place).ok()?;
            codec::decode(&bytes, shard)
        })
    }

    /// Saves an index for the next run, if wanted and possible.
    pub(super) fn save(&self, store: &dyn Store, shard: &Shard, index: &TarIndex) {
        // Faults of a tar must be reported in every run, so the index of a damaged tar is not saved.
        if !index.damage().is_empty() || !on_disk(store, shard) {
            return;
        }
        let place = match self {
            IndexCache::Beside => Some(beside(shard)),
            _ => self.folder().and_then(|folder| inside(&folder, shard)),
        };
        if let (Some(place), Some(bytes)) = (place, codec::encode(index, shard)) {
            // If the folder is not writable, the next run makes the index again.
            let _ = file::write(&place, |file| file.write_all(&bytes));
        }
    }

    /// Loads a file of this suffix that was saved for the shard, and parses it with `read`.
    pub(in crate::format) fn load_file<T>(
        &self,
        store: &dyn Store,
        shard: &Shard,
        suffix: &str,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        if *self == IndexCache::Off || !on_disk(store, shard) {
            return None;
        }
        let places = [Some(beside(shard)), self.folder().and_then(|folder| inside(&folder, shard))];
        let files = places.into_iter().flatten().map(|place| place.with_extension(suffix));
        files.filter_map(|place| std::fs::read(place).ok()).find_map(|bytes| read(&bytes))
    }

    /// Saves a file of this suffix for the shard, if wanted and possible.
    pub(in crate::format) fn save_file(&self, store: &dyn Store, shard: &Shard, suffix: &str, bytes: &[u8]) {
        if *self == IndexCache::Off || !on_disk(store, shard) {
            return;
        }
        let place = match self {
            IndexCache::Beside => Some(beside(shard)),
            _ => self.folder().and_then(|folder| inside(&folder, shard)),
        };
        if let Some(place) = place {
            // As with tars: if the folder is not writable, the next run only takes longer.
            let _ = file::write(&place.with_extension(suffix), |file| file.write_all(bytes));
        }
    }

    /// How long making an index must take to be saved. With an explicit location it is always saved.
    pub(in crate::format) fn patience(&self) -> Duration {
        if *self == IndexCache::Auto { SLOW } else { Duration::ZERO }
    }

    fn folder(&self) -> Option<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        match self {
            IndexCache::Off | IndexCache::Beside => None,
            IndexCache::Folder(folder) => Some(folder.clone()),
            IndexCache::Auto => variable("INFEED_CACHE")
                .map(|cache| cache.join("index"))
                .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("infeed/index")))
                .or_else(|| variable("HOME").map(|home| home.join(".cache/infeed/index"))),
        }
    }
}

/// Whether the shard is a local file. Only then do name, size and time identify it reliably across runs.
fn on_disk(store: &dyn Store, shard: &Shard) -> bool {
    let same = |path| std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() == shard.size);
    shard.modified.is_some() && store.local_path(&shard.name).is_some_and(same)
}

fn beside(shard: &Shard) -> PathBuf {
    PathBuf::from(format!("{}.infeed-index", shard.name))
}

fn inside(folder: &Path, shard: &Shard) -> Option<PathBuf> {
    let whole = std::path::absolute(&*shard.name).ok()?;
    Some(folder.join(format!("{:016x}.infeed-index", file::hash(whole.to_str()?.as_bytes()))))
}
