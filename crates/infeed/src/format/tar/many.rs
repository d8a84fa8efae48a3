//! Finding the rows of many tars: most of them in a file of an earlier run, the others one by one.

use super::{TarFormat, TarIndex, set::Collector, set::TarSet};
use infeed_core::{Error, Result, Shards, Store, parallel};
use std::time::Instant;

/// From this many tars on their indices are saved together. Fewer are read quickly enough one by one, and a tar with a
/// file of its own keeps it in whatever company it is opened.
const MANY: usize = 64;

/// Tars indexed before their arrays are put together: bounds the memory of loose ones.
const GROUP: usize = 4096;

impl TarFormat {
    /// The rows of many shards, saved or found now, `threads` shards at a time.
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
        // Damaged tars are not kept, so a run that found nothing else has nothing to add to the file.
        if many && (sound > 0 || !saved.own) && start.elapsed() >= self.cache.patience() {
            self.cache.save_set(store, shards, &set);
        }
        Ok(set)
    }

    /// The rows of one tar, which among many gets a file of its own only when that was slow: one that is interrupted
    /// half-way through slow tars then need not start again, and many quick ones leave one file and not thousands.
    fn one_of(&self, store: &dyn Store, shards: &Shards, tar: usize, many: bool) -> Result<TarIndex> {
        let shard = shards.get(tar).ok_or_else(lost)?;
        if many { self.find_rows(store, &shard, super::saved::SLOW) } else { self.read_index(store, &shard) }
    }
}

fn lost() -> Error {
    Error::Internal { what: "a shard was lost while indexing".to_owned() }
}
