//! All stores behind one interface: the name of an object selects the store.

use super::{
    LocalStore, StoreEntry,
    entry::{STORES, entry_of},
    faulty::{self, FaultyStore},
    paths,
    retry::{RetryingStream, retry},
};
use bytes::Bytes;
use infeed_core::{Error, Found, Result, Shard, Store};
use serde_json::{Map, Value as Json};
use std::{
    io::{Error as IoError, ErrorKind, Read},
    ops::Range,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Every store of the table, each created at its first use. Several can be used in one recipe.
///
/// It also checks that stores return as many bytes as were requested, so that no reader has to.
#[derive(Debug)]
pub struct Stores {
    /// Plain paths, which are the most frequent: served without a table lookup.
    local: Arc<dyn Store>,
    /// Parallel to [`STORES`].
    others: Vec<OnceLock<Arc<dyn Store>>>,
    options: Map<String, Json>,
}

impl Stores {
    /// Creates the stores; only that of local files is opened.
    pub fn new() -> Self {
        Self::with(Map::new())
    }

    /// Creates the stores with the store options of a recipe.
    pub fn with(options: Map<String, Json>) -> Self {
        Stores {
            local: faulted(Arc::new(LocalStore::new())),
            others: STORES.iter().map(|_| OnceLock::new()).collect(),
            options,
        }
    }

    /// Returns the stores as readers take them.
    pub fn shared() -> Arc<dyn Store> {
        Arc::new(Stores::new())
    }

    /// The store that a name speaks of.
    fn of(&self, name: &str) -> Result<&Arc<dyn Store>> {
        match entry_of(name)? {
            None => Ok(&self.local),
            Some(entry) => self.open(entry),
        }
    }

    fn open(&self, entry: &'static StoreEntry) -> Result<&Arc<dyn Store>> {
        let place = STORES.iter().position(|known| known.name == entry.name);
        let slot = place.and_then(|place| self.others.get(place));
        let slot =
            slot.ok_or_else(|| Error::Internal { what: format!("the store {} has no place", entry.name) })?;
        if let Some(store) = slot.get() {
            return Ok(store);
        }
        let store = faulted((entry.open)(&self.options)?);
        Ok(slot.get_or_init(|| store))
    }
}

impl Stores {
    /// Asks each store once, for all names that it has. The answers are in the order of the names.
    fn each<T: Clone>(
        &self,
        names: &[String],
        ask: impl Fn(&dyn Store, &[String]) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let mut asked: Vec<(&Arc<dyn Store>, Vec<usize>)> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let store = self.of(name)?;
            match asked.iter_mut().find(|(known, _)| Arc::ptr_eq(known, store)) {
                Some((_, places)) => places.push(place),
                None => asked.push((store, vec![place])),
            }
        }
        if let [(store, _)] = asked.as_slice() {
            return ask(&***store, names);
        }
        let mut out = vec![None; names.len()];
        for (store, places) in asked {
            let mine: Vec<String> = places.iter().map(|place| names[*place].clone()).collect();
            for (place, answer) in places.into_iter().zip(ask(&**store, &mine)?) {
                out[place] = Some(answer);
            }
        }
        let lost =
            || Error::Internal { what: "a store answered for fewer objects than it was asked".to_owned() };
        out.into_iter().map(|answer| answer.ok_or_else(lost)).collect()
    }
}

/// Wraps a store with the faults that a test has injected, if any.
fn faulted(store: Arc<dyn Store>) -> Arc<dyn Store> {
    match faulty::wanted() {
        Some(faults) => Arc::new(FaultyStore::new(store, faults)),
        None => store,
    }
}

/// Short bytes are no bytes: readers rely on having what they asked for.
pub(super) fn check_lengths(shard: &Shard, ranges: &[Range<u64>], bytes: &[Bytes]) -> Result<()> {
    let len = |range: &Range<u64>| range.end.saturating_sub(range.start);
    let kept = bytes.len() == ranges.len()
        && ranges.iter().zip(bytes).all(|(range, bytes)| bytes.len() as u64 == len(range));
    if kept {
        return Ok(());
    }
    let asked: u64 = ranges.iter().map(len).sum();
    let got: usize = bytes.iter().map(Bytes::len).sum();
    let what = format!("{got} bytes came of {asked} that were asked for");
    Err(Error::io("read", &*shard.name, IoError::new(ErrorKind::UnexpectedEof, what)))
}

impl Default for Stores {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for Stores {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let store = self.of(prefix)?;
        retry(|| store.list(prefix))
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.each(names, |store, names| retry(|| store.stat(names)))
    }

    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        self.each(names, |store, names| retry(|| store.probe(names)))
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let store = self.of(&shard.name)?;
        retry(|| {
            let bytes = store.read(shard, ranges)?;
            check_lengths(shard, ranges, &bytes)?;
            Ok(bytes)
        })
    }

    fn read_into(&self, shard: &Shard, start: u64, out: &mut [u8]) -> Result<()> {
        let store = self.of(&shard.name)?;
        retry(|| store.read_into(shard, start, out))
    }

    /// The names are of one store, because they are below folders that the user chose.
    fn read_below(&self, names: &[String], folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        let Some(first) = names.first() else { return Ok(Vec::new()) };
        let store = self.of(first)?;
        match store.read_below(names, folders, limit) {
            // One by one, so that a fault of one file does not count as a try of the others.
            Err(error) if error.is_transient() => {
                let one = |name| retry(|| store.read_below(std::slice::from_ref(name), folders, limit));
                let all: Vec<Vec<Bytes>> = names.iter().map(one).collect::<Result<_>>()?;
                Ok(all.into_iter().flatten().collect())
            }
            other => other,
        }
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        if let Ok(store) = self.of(&shard.name) {
            store.will_read(shard, ranges);
        }
    }

    fn network(&self, name: &str) -> Option<&'static str> {
        self.of(name).ok()?.network(name)
    }

    /// The least of the stores that are in use.
    fn room_ahead(&self) -> Option<u64> {
        self.others.iter().filter_map(|store| store.get()?.room_ahead()).min()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.others.iter().filter_map(OnceLock::get).for_each(|store| store.ahead_for(run, step, done));
    }

    fn notes(&self) -> Vec<String> {
        self.others.iter().filter_map(OnceLock::get).flat_map(|store| store.notes()).collect()
    }

    fn forget_ahead(&self) {
        self.others.iter().filter_map(OnceLock::get).for_each(|store| store.forget_ahead());
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.others.iter().filter_map(OnceLock::get).for_each(|store| store.set_memory(bytes));
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.of(name)?.put(name, bytes)
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        let store = self.of(&shard.name)?;
        retry(|| store.map(shard))
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        let stream = RetryingStream::open(self.of(&shard.name)?, shard, from)?;
        Ok(stream.map(|stream| Box::new(stream) as _))
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        let store = self.of(folder)?;
        retry(|| store.names(folder))
    }

    /// Several paths may be joined with `::`.
    fn find(&self, path: &str) -> Result<Vec<Found>> {
        if path.is_empty() {
            return Err(Error::argument("a path is empty"));
        }
        let mut found = Vec::new();
        for part in path.split("::").filter(|part| !part.is_empty()) {
            match entry_of(part)? {
                Some(entry) if entry.name != "local" => found.extend(self.open(entry)?.find(part)?),
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
