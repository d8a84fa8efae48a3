//! Stores: bytes by name and range.

pub mod below;
mod cache;
mod forward;

pub use cache::{Cache, CacheCounts, Foresight};
pub use forward::forward;

use crate::{Error, Result};
use bytes::Bytes;
use std::{fmt::Debug, io::Read, ops::Range, path::PathBuf, sync::Arc};

/// One named object in a store: a tar, a Parquet file, a JPEG in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Name inside its store, as the user would write it.
    pub name: Arc<str>,
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970, or another number that changes with the object, if the store has one.
    pub modified: Option<u64>,
    /// A number that differs whenever the object was replaced or written to, where the store has one. Unlike `modified`
    /// nobody can set it back, and it means nothing on another machine.
    pub version: Option<u64>,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// An object that exists.
    File(String),
    /// A folder that exists, without a trailing `/` unless it is the root.
    Folder(String),
}

impl Found {
    /// Its name.
    pub fn name(&self) -> &str {
        let (Found::File(name) | Found::Folder(name)) = self;
        name
    }
}

/// Storage of bytes: local disk, object store, http, memory.
///
/// Every reader of infeed takes its bytes from here, whatever the format. A store must implement `list`, `stat` and
/// `read`; the other methods have defaults that are correct for every store and can be overridden by better ones. The
/// suite `stores` of the testkit checks this contract.
pub trait Store: Debug + Send + Sync {
    /// Returns every object whose name starts with `prefix`, sorted by name.
    fn list(&self, prefix: &str) -> Result<Vec<Shard>>;

    /// Returns name, size and modification time of these objects, in the same order. A missing one is
    /// [`Error::NotFound`].
    fn stat(&self, names: &[String]) -> Result<Vec<Shard>>;

    /// Returns what [`Store::stat`] does for those of these objects that are there, and `None` for the others.
    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        let one = |name: &String| match self.stat(std::slice::from_ref(name)) {
            Ok(mut found) => Ok(found.pop()),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(other) => Err(other),
        };
        names.iter().map(one).collect()
    }

    /// Returns the bytes of each range, in the same order. A range beyond the end is an error, never a short read; so
    /// is an object that is known to have changed since the shard was listed.
    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Reads the bytes from `start` on into memory of the caller, all of it, for rows that are so large that a buffer between
    /// would cost as much as the read. The promises are those of [`Store::read`].
    fn read_into(&self, shard: &Shard, start: u64, out: &mut [u8]) -> Result<()> {
        let bytes = self.read_one(shard, start..start.saturating_add(out.len() as u64))?;
        if bytes.len() != out.len() {
            let what = format!("{} bytes came of {} that were asked for", bytes.len(), out.len());
            let cause = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what);
            return Err(Error::io("read", &*shard.name, cause));
        }
        out.copy_from_slice(&bytes);
        Ok(())
    }

    /// Returns the kind of network file system that an object is on, such as `nfs`, if it is on one: reads then take a round trip each,
    /// so they should be large and many at a time.
    fn network(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Announces that these ranges will be read soon. Only a hint: doing nothing is correct.
    fn will_read(&self, _shard: &Shard, _ranges: &[Range<u64>]) {}

    /// Returns how many bytes can be announced now, for stores whose reads take so long that what is needed in some seconds
    /// should be announced already. `None` for stores where a read takes no longer than the work on its bytes.
    fn room_ahead(&self) -> Option<u64> {
        None
    }

    /// Says which step of a run the announcements that follow are for, and that all steps before `done` were read: what was
    /// announced for those alone is not needed again. Only a hint.
    fn ahead_for(&self, _run: u64, _step: u64, _done: u64) {}

    /// Returns what a user should know of how the objects that were looked up are read; for `explain`.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Says that what was announced and not read is no longer wanted.
    fn forget_ahead(&self) {}

    /// Sets how much memory may hold what was announced; `None` is what it has unasked. Only a hint.
    fn set_memory(&self, _bytes: Option<u64>) {}

    /// Returns the whole object as memory that is read on first touch, if the store supports that. With `None` the
    /// reader reads ranges instead.
    ///
    /// Others can change such bytes at any time: code that reads a value twice and relies on it being the same must
    /// copy it first.
    fn map(&self, _shard: &Shard) -> Result<Option<Bytes>> {
        Ok(None)
    }

    /// Returns the bytes from `from` to the end as a reader, if the store has a better way than ranges. Readers call
    /// [`forward`], which works with every store.
    fn stream(&self, _shard: &Shard, _from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        Ok(None)
    }

    /// Reads whole objects that data names, each at most `limit` bytes long. What a name leads to, once links are followed, must
    /// be an object below one of the folders, else it is refused with [`Refusal`](below::Refusal). The text of the names was
    /// checked with [`below::name_below`].
    ///
    /// Links can be changed at any time: a store that has links must check what it opened, not what a name led to before.
    /// The default is for stores that have none.
    fn read_below(&self, names: &[String], _folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        let one = |shard: &Shard| {
            below::check_size(&shard.name, shard.size, limit)?;
            self.read_all(shard)
        };
        self.stat(names)?.iter().map(one).collect()
    }

    /// Returns the names of all objects below a folder, sorted. Stores with real folders also return each sub-folder,
    /// with a trailing `/`.
    fn names(&self, folder: &str) -> Result<Vec<String>> {
        let prefix =
            if folder.is_empty() || folder.ends_with('/') { folder.to_owned() } else { format!("{folder}/") };
        Ok(self.list(&prefix)?.into_iter().map(|shard| shard.name.to_string()).collect())
    }

    /// Returns what a path stands for: an object, a folder, or with patterns many of them, sorted. No match is
    /// [`Error::NotFound`].
    fn find(&self, path: &str) -> Result<Vec<Found>> {
        match self.stat(&[path.to_owned()]) {
            Ok(_) => Ok(vec![Found::File(path.to_owned())]),
            Err(Error::NotFound { hint, .. }) => {
                let bare = path.trim_end_matches('/');
                if self.names(bare)?.is_empty() {
                    return Err(Error::NotFound { path: path.to_owned(), hint });
                }
                Ok(vec![Found::Folder(bare.to_owned())])
            }
            Err(other) => Err(other),
        }
    }

    /// Writes a whole object, replacing one of the same name, where the store can be written to.
    fn put(&self, name: &str, _bytes: Bytes) -> Result<()> {
        Err(Error::argument(format!("`{name}`: this store is only read")))
    }

    /// Returns the cache that this store is or reads through, if there is one.
    fn cache(&self) -> Option<&dyn Cache> {
        None
    }

    /// Returns the local file of an object, for formats that can only be read from one (their table entry says so).
    fn local_path(&self, _name: &str) -> Option<PathBuf> {
        None
    }
}

/// Convenience methods for [`Store`].
pub trait StoreExt: Store {
    /// Reads a whole object.
    fn read_all(&self, shard: &Shard) -> Result<Bytes> {
        self.read_one(shard, 0..shard.size)
    }

    /// Reads one range.
    fn read_one(&self, shard: &Shard, range: Range<u64>) -> Result<Bytes> {
        let mut bytes = self.read(shard, std::slice::from_ref(&range))?;
        match (bytes.pop(), bytes.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => {
                Err(Error::Internal { what: format!("store gave {} pieces for one range", bytes.len() + 1) })
            }
        }
    }

    /// Looks up one object by name.
    fn stat_one(&self, name: &str) -> Result<Shard> {
        self.stat(&[name.to_owned()])?
            .pop()
            .ok_or_else(|| Error::NotFound { path: name.to_owned(), hint: String::new() })
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
