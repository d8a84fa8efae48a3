//! Writes the indices of tars, so that others need not find their rows: `infeed index`.

use super::{ENTRY, TarFormat, saved, scan, wids};
use crate::format::{paths::Inputs, saved::IndexCache, search::Search};
use infeed_core::{Error, Index, OpenRequest, Result, Shard, Store, parallel};
use serde_json::Map;
use std::sync::Arc;

/// A tar whose index was asked for.
#[derive(Debug)]
pub struct IndexedTar {
    /// Its name.
    pub name: Arc<str>,
    /// Its bytes.
    pub size: u64,
    /// Its rows, and whether the index was there already; or why there is none.
    pub outcome: Result<(u64, IndexState)>,
}

/// Whether an index had to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// It was there.
    There,
    /// It was made and written.
    Written,
}

impl TarFormat {
    /// Writes the index of each tar that these paths stand for to where [`TarFormat::cache`] says, `threads` tars at a time. One
    /// that is there and fits its tar is kept, unless all are to be made `again`. When `go_on` returns false, what is left
    /// is given up.
    pub fn write_indices(
        &self,
        store: &Arc<dyn Store>,
        paths: &[String],
        again: bool,
        threads: usize,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<IndexedTar>> {
        let given = Map::new();
        let request =
            OpenRequest { entry: &ENTRY, store, paths, found: None, listed: None, given: &given, threads };
        let names = match Inputs::find(&request)? {
            Inputs::Files(names) => wids::expand(&**store, names)?.names,
            Inputs::Stream(_) => {
                return Err(Error::argument(
                    "compressed tars, commands and standard input are read from front to back and have no index",
                ));
            }
        };
        let tars = store.stat(&names)?;
        let store = &**store;
        let sidecars = match self.cache {
            IndexCache::Beside if !again => saved::sidecars(&self.cache, store, &tars),
            _ => vec![None; tars.len()],
        };
        for sidecar in sidecars.iter().flatten() {
            store.will_read(sidecar, std::slice::from_ref(&(0..sidecar.size)));
        }
        let there = |at: usize| {
            let old = || saved::rows_there(&self.cache, store, &tars[at], sidecars[at].as_ref());
            Ok(if again { None } else { old() })
        };
        let there = parallel::map(tars.len(), threads, there)?;
        let missing: Vec<&Shard> =
            tars.iter().zip(&there).filter(|(_, rows)| rows.is_none()).map(|(tar, _)| tar).collect();
        let search = Search::begin(missing.len(), missing.iter().map(|tar| tar.size).sum());
        let one = |at: usize| {
            let tar = &tars[at];
            let outcome = match there[at] {
                Some(rows) => Ok((rows, IndexState::There)),
                None if !go_on() => Err(Error::argument("given up")),
                None => self.write_one(store, tar, search.as_ref()).map(|rows| (rows, IndexState::Written)),
            };
            Ok(IndexedTar { name: Arc::clone(&tar.name), size: tar.size, outcome })
        };
        parallel::map(tars.len(), threads, one)
    }

    fn write_one(&self, store: &dyn Store, tar: &Shard, search: Option<&Search>) -> Result<u64> {
        if !saved::has_place(&self.cache, store, tar) {
            return Err(Error::argument(format!(
                "`{}`: its index could not be told from that of another tar, because the store tells neither a tag nor a time, \
                 or there is no folder for it",
                tar.name
            )));
        }
        let index = scan::scan(store, tar, self.lenient, search)?;
        if let Some(damage) = index.damage().first() {
            return Err(Error::Format { shard: tar.name.to_string(), offset: 0, what: damage.clone() });
        }
        saved::try_save(&self.cache, store, tar, &index)?;
        Ok(index.rows())
    }
}
