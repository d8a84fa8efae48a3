//! Indexes many tars: most from the file of an earlier run, the others one by one.

use super::{TarFormat, TarIndex, set::Collector, set::TarSet};
use crate::format::saved::{IndexCache, SLOW, is_far};
use infeed_core::{Error, Result, Shards, Store, parallel};
use std::time::Instant;

/// From this many tars on their indices are saved together. Fewer are read quickly enough one by one, and a tar with an
/// index file of its own can use it in any data set.
const MANY: usize = 64;

/// Tars indexed before their arrays are merged: bounds the memory of separate indices.
const GROUP: usize = 4096;

impl TarFormat {
    /// Returns the rows of many shards, from the cache or by a scan, `threads` shards at a time.
    pub fn read_set(&self, store: &dyn Store, shards: &Shards, threads: usize) -> Result<TarSet> {
        let many = shards.len() >= MANY;
        let saved = if many { self.cache.load_set(store, shards) } else { None };
        let saved = match saved {
            Some(saved) if saved.is_whole(shards) => return Ok(saved.set),
            other => other.unwrap_or_default(),
        };
        let start = Instant::now();
        let mut all = Collector::new(shards.len());
        let mut sound = 0;
        for from in (0..shards.len()).step_by(GROUP) {
            let group = from..shards.len().min(from + GROUP);
            let missing: Vec<usize> = group.clone().filter(|tar| saved.get(*tar).is_none()).collect();
            let found =
                parallel::map(missing.len(), threads, |at| self.one_of(store, shards, missing[at], many))?;
            sound += found.iter().filter(|index| index.damage.is_empty()).count();
            let mut found = found.into_iter();
            for tar in group {
                match saved.get(tar) {
                    Some(view) => all.push(&view),
                    None => all.push(&found.next().ok_or_else(lost)?.view()),
                }
            }
        }
        let set = all.finish();
        // Damaged tars are not saved, so a run that scanned only those has nothing to add to the file.
        if many && (sound > 0 || !saved.own) && start.elapsed() >= self.cache.patience() {
            self.cache.save_set(store, shards, &set);
        }
        Ok(set)
    }

    /// Indexes one tar. Among many it gets a file of its own only if that was slow: an interrupted run over slow tars
    /// then need not start again, and many quick ones leave one file, not thousands.
    fn one_of(&self, store: &dyn Store, shards: &Shards, tar: usize, many: bool) -> Result<TarIndex> {
        let shard = shards.get(tar).ok_or_else(lost)?;
        if many && !(self.cache == IndexCache::Beside && is_far(store, &shard.name)) {
            self.find_rows(store, &shard, SLOW)
        } else {
            self.read_index(store, &shard)
        }
    }
}

fn lost() -> Error {
    Error::Internal { what: "a shard was lost while indexing".to_owned() }
}
