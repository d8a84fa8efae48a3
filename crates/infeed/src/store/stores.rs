//! All stores behind one: the name of an object says which.

use super::{
    LocalStore, StoreEntry,
    entry::{STORES, entry_of},
    faulty::{self, FaultyStore},
    paths,
};
use bytes::Bytes;
use infeed_core::{Error, Found, Result, Shard, Store};
use std::{
    io::{Error as IoError, ErrorKind, Read},
    ops::Range,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Every store of the table, each made when a name first speaks of it. Several can be used in one recipe.
///
/// It also holds stores to their word: bytes that are shorter or longer than the range that was asked for are an error
/// here, so that no reader has to check.
#[derive(Debug)]
pub struct Stores {
    /// Plain paths, which are most names: found without a look at the table.
    local: Arc<dyn Store>,
    /// Parallel to [`STORES`].
    others: Vec<OnceLock<Arc<dyn Store>>>,
}

impl Stores {
    /// All stores, none of them opened but that of local files.
    pub fn new() -> Self {
        Stores {
            local: faulted(Arc::new(LocalStore::new())),
            others: STORES.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// The same, as every reader takes it.
    pub fn shared() -> Arc<dyn Store> {
        Arc::new(Stores::new())
    }

    /// The store that a name speaks of.
    fn of(&self, name: &str) -> Result<&dyn Store> {
        match entry_of(name)? {
            None => Ok(&*self.local),
            Some(entry) => self.open(entry),
        }
    }

    fn open(&self, entry: &'static StoreEntry) -> Result<&dyn Store> {
        let place = STORES.iter().position(|known| known.scheme == entry.scheme);
        let slot = place.and_then(|place| self.others.get(place));
        let slot =
            slot.ok_or_else(|| Error::Internal { what: format!("the store {} has no place", entry.name) })?;
        if let Some(store) = slot.get() {
            return Ok(&**store);
        }
        let store = faulted((entry.open)()?);
        Ok(&**slot.get_or_init(|| store))
    }
}

/// A store that fails as often as a test has asked for; as it is otherwise.
fn faulted(store: Arc<dyn Store>) -> Arc<dyn Store> {
    match faulty::wanted() {
        Some(faults) => Arc::new(FaultyStore::new(store, faults)),
        None => store,
    }
}

impl Default for Stores {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for Stores {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.of(prefix)?.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let Some(first) = names.first() else { return Ok(Vec::new()) };
        let store = self.of(first)?;
        let mut one = true;
        for name in &names[1..] {
            one &= std::ptr::addr_eq(self.of(name)?, store);
        }
        if one {
            return store.stat(names);
        }
        // Names of several stores: each store is asked once, for all that it has.
        let mut out = vec![None; names.len()];
        for at in 0..names.len() {
            if out[at].is_some() {
                continue;
            }
            let store = self.of(&names[at])?;
            let mut places = Vec::new();
            for (place, name) in names.iter().enumerate().skip(at) {
                if std::ptr::addr_eq(self.of(name)?, store) {
                    places.push(place);
                }
            }
            let mine: Vec<String> = places.iter().map(|place| names[*place].clone()).collect();
            for (place, shard) in places.into_iter().zip(store.stat(&mine)?) {
                out[place] = Some(shard);
            }
        }
        let lost =
            || Error::Internal { what: "a store answered for fewer objects than it was asked".to_owned() };
        out.into_iter().map(|shard| shard.ok_or_else(lost)).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.of(&shard.name)?.read(shard, ranges)?;
        let kept = bytes.len() == ranges.len()
            && ranges
                .iter()
                .zip(&bytes)
                .all(|(range, b)| b.len() as u64 == range.end.saturating_sub(range.start));
        if kept {
            return Ok(bytes);
        }
        let asked: u64 = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        let got: usize = bytes.iter().map(Bytes::len).sum();
        let what = format!("{got} bytes came of {asked} that were asked for");
        Err(Error::io("read", &*shard.name, IoError::new(ErrorKind::UnexpectedEof, what)))
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        if let Ok(store) = self.of(&shard.name) {
            store.will_read(shard, ranges);
        }
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        self.of(&shard.name)?.map(shard)
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        self.of(&shard.name)?.stream(shard, from)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.of(folder)?.names(folder)
    }

    /// Several paths may be joined with `::`.
    fn find(&self, path: &str) -> Result<Vec<Found>> {
        if path.is_empty() {
            return Err(Error::argument("a path is empty"));
        }
        let mut found = Vec::new();
        for part in path.split("::").filter(|part| !part.is_empty()) {
            match entry_of(part)? {
                Some(entry) if entry.scheme != "file" => found.extend(self.open(entry)?.find(part)?),
                _ => paths::find_local(part, &mut found)?,
            }
        }
        if found.is_empty() {
            return Err(Error::argument("there is no path to read"));
        }
        Ok(found)
    }

    fn local_path(&self, name: &str) -> Option<PathBuf> {
        self.of(name).ok()?.local_path(name)
    }
}
