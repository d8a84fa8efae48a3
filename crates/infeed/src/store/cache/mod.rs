//! A cache of the bytes of a store, on disk or in memory, shared by all processes of a machine.
//!
//! [`CacheStore`] stands before any other store, mostly one that is far away. It keeps *chunks* of objects as files (4 MiB each, the
//! last of an object shorter), and gives the same bytes as the store behind it, whatever happens to the cache.
//!
//! # How it works
//!
//! * **Reading.** A chunk that is there is read with `pread`, never mapped: others may cut a file short, which must not kill this
//!   process. A chunk that is not there is fetched whole, neighbours together, if it is worth keeping. Otherwise the bytes that were asked
//!   for are read from the store, and no more.
//! * **Once.** Of all processes and threads that need a chunk, the one that has the lock on its file fetches it; the others wait, and read it
//!   from the cache. They hold no lock while they wait, so nobody waits in a circle, and after [`CacheOptions::patience`] they read
//!   from the store themselves.
//! * **Ahead.** [`Store::will_read`] claims missing chunks, tells the store behind of those and no others, and fetches them with threads
//!   of the cache (`ahead.rs`).
//! * **What to keep** is arithmetic (`policy`). With a [`Foresight`], what is needed more often takes the place of what is needed less.
//!   Otherwise, and without one, a stable share stays.
//! * **The limit** holds for all processes together: they count in one journal (`journal.rs`).
//! * **Crashes.** Chunks are written aside and renamed. They have checksums, which a process checks when it first uses them; a damaged chunk
//!   is fetched again. All locks are `flock`, which end with their process. What a killed process leaves (a file with half a chunk, bytes
//!   that it reserved) is taken over or cleared away by the others.
//! * **A full or read-only disk** turns writing off, with one [`CacheStore::warning`]. Chunks that are there are still used.
//! * **Identity.** An object is known by name, size and version (or modification time). One that was replaced is another object. Objects
//!   that have neither version nor time are not cached.
//!
//! Samples that pipelines have made are kept beside the chunks, in a way of their own: see [`shelf`].
//!
//! [`Store::will_read`]: infeed_core::Store::will_read

mod ahead;
mod chunks;
mod claim;
mod file;
mod handles;
mod index;
mod journal;
mod object;
mod options;
mod policy;
mod process;
mod read;
mod shared;
pub mod shelf;
mod space;
mod stats;
mod stream;
pub mod tools;
mod users;

pub use options::CacheOptions;
pub use shelf::{Shelf, ShelfAbout};
pub use stats::{CacheStats, ShelfStats};

use bytes::Bytes;
use index::Index;
use infeed_core::pool::Pool;
use infeed_core::{Cache, CacheCounts, Error, Foresight, Found, Hold, Result, Shard, Store};
#[cfg(test)]
use object::Object;
use process::Process;
use shared::Shared;
use std::{
    fmt,
    io::{self, Read},
    ops::Range,
    path::PathBuf,
    sync::{Arc, OnceLock, atomic::AtomicU32},
};

/// Bytes of unused buffers that a cache keeps.
const KEPT: usize = 64 << 20;

/// A store that keeps what it has read from another one.
pub struct CacheStore {
    shared: Arc<Shared>,
    /// `None` for one that only lends the cache.
    user: Option<users::User>,
    owner: bool,
}

impl CacheStore {
    /// Opens the cache in a folder, before a store. A folder that cannot be written to is no error: see [`CacheStore::warning`].
    pub fn open(inner: Arc<dyn Store>, options: CacheOptions) -> Result<Arc<CacheStore>> {
        if !(1..=1 << 30).contains(&options.chunk) {
            return Err(Error::argument(format!(
                "chunks of a cache have 1 to {} bytes, not {}",
                1u64 << 30,
                options.chunk
            )));
        }
        if options.folder.exists() && !options.folder.is_dir() {
            let what = format!("the cache `{}` must be a folder, and is a file", options.folder.display());
            return Err(Error::argument(what));
        }
        let root = options.folder.join(object::ROOT);
        let (user, index, failed) = match begin(&root, &options) {
            Ok((user, index)) => (Some(user), Some(index), None),
            Err(e) => (None, None, Some(e)),
        };
        let limit = index.as_ref().map_or(0, |index| index.policy().limit());
        let chunk = options.chunk;
        let shared = Shared {
            inner,
            options,
            root,
            limit,
            pool: Pool::new(KEPT),
            counters: stats::Counters::default(),
            off: OnceLock::new(),
            late: AtomicU32::new(0),
            first: Process::new(index, None, chunk),
        };
        if let Some(e) = failed {
            shared.turn_off(&e);
        }
        Ok(Arc::new(CacheStore { shared: Arc::new(shared), user, owner: true }))
    }

    /// The same cache, for a reader that may outlive this handle.
    fn view(shared: &Arc<Shared>) -> CacheStore {
        CacheStore { shared: Arc::clone(shared), user: None, owner: false }
    }

    /// What the cache has done for this process so far.
    pub fn stats(&self) -> CacheStats {
        self.shared.counters.stats()
    }

    /// Why the cache is not written to any more, if so.
    pub fn warning(&self) -> Option<&str> {
        self.shared.off.get().map(String::as_str)
    }

    /// Bytes that are kept, as far as this process knows.
    pub fn used(&self) -> u64 {
        self.shared.process().with_index(|index, _| index.policy().used()).unwrap_or(0)
    }

    /// The cache in one line: where it is, its limit and where that comes from.
    pub fn describe(&self) -> String {
        let options = &self.shared.options;
        let from = match options.limit {
            Some(_) => "as given",
            None if options.in_memory() => "half of the free memory there",
            None => "80 % of the free space",
        };
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        let off = self.warning().map_or(String::new(), |why| format!("; {why}"));
        format!(
            "cache in {}: {} of {} ({from}), chunks of {}{off}",
            options.folder.display(),
            mib(self.used()),
            mib(self.limit()),
            mib(options.chunk)
        )
    }
}

/// Prepares the folder of a cache.
fn begin(root: &std::path::Path, options: &CacheOptions) -> io::Result<(users::User, Index)> {
    let open = |alone| {
        let mut index = Index::open(root, options.limit.unwrap_or(u64::MAX), alone)?;
        if options.limit.is_none() {
            let all = space::free(root).unwrap_or(0).saturating_add(index.policy().used());
            index.set_limit(if options.in_memory() { all / 2 } else { all / 5 * 4 });
        }
        Ok(index)
    };
    users::User::new(root, options.keeps(), open)
}

impl fmt::Debug for CacheStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CacheStore");
        shown.field("folder", &self.shared.options.folder).field("limit", &self.limit());
        shown.field("chunk", &self.shared.options.chunk).field("inner", &self.shared.inner);
        shown.finish_non_exhaustive()
    }
}

impl Drop for CacheStore {
    fn drop(&mut self) {
        if self.owner {
            // Streams that go on read from the store: the folder may be gone.
            let _ = self
                .shared
                .off
                .set(format!("the cache `{}` is closed", self.shared.options.folder.display()));
            // Before the user goes: claims lie in the folder that it may remove.
            self.shared.process().close();
            self.user = None;
        }
    }
}

impl Cache for CacheStore {
    fn chunk(&self) -> u64 {
        self.shared.options.chunk
    }

    /// The most bytes that all processes together keep.
    fn limit(&self) -> u64 {
        self.shared.limit
    }

    fn room_for(&self, size: u64) -> u64 {
        let chunk = self.shared.options.chunk;
        let rest = match size % chunk {
            0 => 0,
            rest => file::file_bytes(rest, chunk),
        };
        (size / chunk).saturating_mul(file::file_bytes(chunk, chunk)).saturating_add(rest)
    }

    fn counts(&self) -> CacheCounts {
        let CacheStats { cache_bytes, store_bytes, evictions, damaged, .. } = self.stats();
        CacheCounts { cache_bytes, store_bytes, evictions, damaged }
    }

    fn set_future(&self, future: Arc<dyn Foresight>) {
        *self.shared.process().future.hold() = Some(process::Future::new(future));
    }
}

impl Store for CacheStore {
    fn cache(&self) -> Option<&dyn Cache> {
        Some(self)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.shared.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.shared.inner.stat(names)
    }

    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        self.shared.inner.probe(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.shared.read(shard, ranges)
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        self.shared.announce(shard, ranges);
    }

    /// A cache that has everything wants no announcements: finding out which chunks rows need takes a fifth of the time of reading them.
    fn room_ahead(&self) -> Option<u64> {
        let room = self.shared.inner.room_ahead()?;
        Some(if self.shared.process().is_warm() { 0 } else { room })
    }

    // Not told of steps: what the cache announces to the store behind it, it reads to the end, and whenever it has a thread for it.

    /// What this process no longer wants, others may wait for: chunks that it has claimed are fetched to the end. If the store behind
    /// forgot them, they would be fetched twice.
    fn forget_ahead(&self) {
        if self.shared.process().ahead.is_idle() {
            self.shared.inner.forget_ahead();
        }
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.shared.inner.set_memory(bytes);
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.shared.inner.put(name, bytes)
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        let cached = self.shared.object(self.shared.process(), shard).is_some();
        if !cached || from > shard.size {
            return self.shared.inner.stream(shard, from);
        }
        Ok(Some(Box::new(stream::Forward::new(&self.shared, shard, from))))
    }

    // No map: mapped files of a cache would be cut short or removed under the reader.

    fn read_below(&self, names: &[String], folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        use infeed_core::{StoreExt, store::below};
        // Stores of files have links, which only they can check.
        if names.iter().any(|name| self.local_path(name).is_some()) {
            return self.shared.inner.read_below(names, folders, limit);
        }
        let one = |shard: &Shard| {
            below::check_size(&shard.name, shard.size, limit)?;
            self.read_all(shard)
        };
        self.stat(names)?.iter().map(one).collect()
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.shared.inner.names(folder)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        self.shared.inner.find(path)
    }

    fn local_path(&self, name: &str) -> Option<PathBuf> {
        self.shared.inner.local_path(name)
    }
}

#[cfg(test)]
mod tests;
