//! Objects held in memory: `mem:NAME`.

use super::StoreEntry;
use bytes::Bytes;
use infeed_core::{Error, Found, Result, Shard, Store};
use std::{
    collections::BTreeMap,
    io::{Error as IoError, ErrorKind},
    ops::Range,
    sync::{
        Arc, LazyLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The entry of this store.
pub(super) const ENTRY: StoreEntry = StoreEntry {
    name: "memory",
    about: "objects that this process keeps in memory: `mem:NAME`",
    schemes: &["mem"],
    open: |_| Ok(Arc::new(MemoryStore::shared().clone())),
};

/// The prefix of names of the shared store.
const SCHEME: &str = "mem:";

/// A store that maps names to bytes. Reading copies nothing. Clones share their objects.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    objects: Arc<RwLock<BTreeMap<String, Object>>>,
    puts: Arc<AtomicU64>,
}

#[derive(Debug, Clone)]
struct Object {
    bytes: Bytes,
    /// Increases with every `put`; used like a modification time, so that a replaced object is noticed.
    version: u64,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the store of `mem:` names, one for the whole process.
    pub fn shared() -> &'static MemoryStore {
        static SHARED: LazyLock<MemoryStore> = LazyLock::new(MemoryStore::new);
        &SHARED
    }

    /// Adds an object, replacing one with the same name.
    pub fn put(&self, name: impl AsRef<str>, bytes: impl Into<Bytes>) {
        let version = 1 + self.puts.fetch_add(1, Ordering::Relaxed);
        let object = Object { bytes: bytes.into(), version };
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.insert(bare(name.as_ref()).to_owned(), object);
    }

    /// Removes an object. Returns whether there was one. Bytes that were read from it stay valid.
    pub fn remove(&self, name: &str) -> bool {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(bare(name)).is_some()
    }

    fn look<T>(&self, with: impl FnOnce(&BTreeMap<String, Object>) -> T) -> T {
        with(&self.objects.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn get(&self, name: &str) -> Result<Object> {
        self.look(|objects| {
            objects.get(bare(name)).cloned().ok_or_else(|| Error::NotFound {
                path: name.to_owned(),
                hint: format!("; the memory store has {} objects", objects.len()),
            })
        })
    }

    /// Returns the object that was listed, not one that replaced it.
    fn same(&self, shard: &Shard) -> Result<Bytes> {
        let object = self.get(&shard.name)?;
        if object.bytes.len() as u64 != shard.size || shard.modified.is_some_and(|v| v != object.version) {
            let what = format!("it had {} bytes and has {} now", shard.size, object.bytes.len());
            return Err(Error::Changed { path: shard.name.to_string(), what });
        }
        Ok(object.bytes)
    }
}

/// Returns a name without its scheme: `mem:a`, `mem://a` and `a` are the same object.
fn bare(name: &str) -> &str {
    name.strip_prefix(SCHEME).map_or(name, |rest| rest.strip_prefix("//").unwrap_or(rest))
}

/// Returns what precedes the bare name.
fn scheme(name: &str) -> &str {
    &name[..name.len() - bare(name).len()]
}

impl<N: AsRef<str>, B: Into<Bytes>> FromIterator<(N, B)> for MemoryStore {
    fn from_iter<I: IntoIterator<Item = (N, B)>>(objects: I) -> Self {
        let store = MemoryStore::new();
        objects.into_iter().for_each(|(name, bytes)| store.put(name, bytes));
        store
    }
}

impl Store for MemoryStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let (scheme, bare) = (scheme(prefix), bare(prefix));
        let shard = |(name, object): (&String, &Object)| Shard {
            name: format!("{scheme}{name}").into(),
            size: object.bytes.len() as u64,
            modified: Some(object.version),
            version: None,
        };
        Ok(self.look(|objects| {
            let from = objects.range(bare.to_owned()..);
            from.take_while(|(name, _)| name.starts_with(bare)).map(shard).collect()
        }))
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        let one = |name: &String| {
            let object = self.get(name)?;
            let size = object.bytes.len() as u64;
            Ok(Shard { name: name.as_str().into(), size, modified: Some(object.version), version: None })
        };
        names.iter().map(one).collect()
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.same(shard)?;
        let piece = |range: &Range<u64>| {
            if range.start <= range.end && range.end <= bytes.len() as u64 {
                return Ok(bytes.slice(range.start as usize..range.end as usize));
            }
            let what = format!("bytes {range:?} are beyond its end at {}", bytes.len());
            Err(Error::io("read", &*shard.name, IoError::new(ErrorKind::UnexpectedEof, what)))
        };
        ranges.iter().map(piece).collect()
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        self.same(shard).map(Some)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        super::paths::find_listed(self, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::StoreExt;

    #[test]
    fn reads_are_views() {
        let store: MemoryStore = [("a/1", "first"), ("a/2", "second"), ("b", "third")].into_iter().collect();
        let names: Vec<_> = store.list("a/").unwrap().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["a/1".into(), "a/2".into()]);
        let shard = store.stat_one("a/2").unwrap();
        let whole = store.read_all(&shard).unwrap();
        let part = store.read_one(&shard, 1..3).unwrap();
        assert_eq!(part, "ec");
        assert_eq!(part.as_ptr(), whole[1..].as_ptr());
        assert!(store.read_one(&shard, 0..7).unwrap_err().to_string().contains("beyond its end at 6"));
        assert!(matches!(store.stat_one("c"), Err(Error::NotFound { .. })));
    }

    #[test]
    fn names_stay_what_the_user_wrote() {
        let store: MemoryStore = [("mem:a/1", "x")].into_iter().collect();
        assert_eq!(&*store.stat_one("mem://a/1").unwrap().name, "mem://a/1");
        assert_eq!(&*store.list("mem:a/").unwrap()[0].name, "mem:a/1");
        assert_eq!(store.find("mem:a").unwrap(), [Found::Folder("mem:a".into())]);
    }
}
