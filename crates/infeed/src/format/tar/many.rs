//! Indexes many tars: most from the file of an earlier run, the others one by one.

use super::{TarFormat, TarIndex, saved, set::Collector, set::TarSet};
use crate::format::{
    saved::{IndexCache, SLOW, is_far},
    search::Search,
};
use infeed_core::{Error, Result, Shard, Shards, Store, parallel};
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
            let tars = missing.iter().map(|tar| shards.get(*tar).ok_or_else(lost)).collect::<Result<_>>()?;
            let found = self.read_group(store, tars, threads, many)?;
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

    /// Indexes some tars: from files of this machine, from files beside them, by a scan.
    fn read_group(
        &self,
        store: &dyn Store,
        tars: Vec<Shard>,
        threads: usize,
        many: bool,
    ) -> Result<Vec<TarIndex>> {
        let here = |at: usize| Ok(saved::load_here(&self.cache, store, &tars[at]));
        let mut found = parallel::map(tars.len(), threads, here)?;
        let rest: Vec<usize> = (0..tars.len()).filter(|at| found[*at].is_none()).collect();
        let asked: Vec<Shard> = rest.iter().map(|at| tars[*at].clone()).collect();
        let sidecars = saved::sidecars(&self.cache, store, &asked);
        // All at once: each is a way to a server that is far away.
        for sidecar in sidecars.iter().flatten() {
            store.will_read(sidecar, std::slice::from_ref(&(0..sidecar.size)));
        }
        let beside = |at: usize| {
            let index = sidecars[at].as_ref().and_then(|file| saved::load_sidecar(store, &asked[at], file));
            if let Some(index) = index.as_ref().filter(|_| !many && self.cache != IndexCache::Beside) {
                saved::save(&self.cache, store, &asked[at], index);
            }
            Ok(index)
        };
        let loaded = parallel::map(rest.len(), threads, beside)?;
        for (at, index) in rest.into_iter().zip(loaded) {
            found[at] = index;
        }
        let rest: Vec<usize> = (0..tars.len()).filter(|at| found[*at].is_none()).collect();
        let far: Vec<usize> = rest.iter().copied().filter(|at| is_far(store, &tars[*at].name)).collect();
        let search = Search::begin(far.len(), far.iter().map(|at| tars[*at].size).sum());
        let scanned = parallel::map(rest.len(), threads, |at| {
            let tar = &tars[rest[at]];
            // Among many a tar gets a file of its own only if finding its rows was slow: an interrupted run over slow tars then
            // need not start again, and many quick ones leave one file, not thousands.
            let own = !many || self.cache == IndexCache::Beside && is_far(store, &tar.name);
            let patience = if own { self.cache.patience() } else { SLOW };
            self.find_rows(store, tar, patience, search.as_ref())
        })?;
        if !far.is_empty() {
            // Inside of large members were bytes that nobody looked at: they must not take the room of rows.
            store.forget_ahead();
        }
        for (at, index) in rest.into_iter().zip(scanned) {
            found[at] = Some(index);
        }
        found.into_iter().map(|index| index.ok_or_else(lost)).collect()
    }
}

fn lost() -> Error {
    Error::Internal { what: "a shard was lost while indexing".to_owned() }
}
