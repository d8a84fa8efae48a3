//! A cache under everything that can happen to it.
#![allow(clippy::single_range_in_vec_init)] // lists of ranges of bytes, some of them short

mod bytes;
mod faults;
mod forks;
mod future;
mod processes;

use super::*;
use crate::store::MemoryStore;
use infeed_core::{Rng, StoreExt};
use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// A store that writes down what it is asked for.
#[derive(Debug)]
pub(super) struct Watched {
    inner: Arc<dyn Store>,
    pub(super) asked: Mutex<Vec<Range<u64>>>,
    pub(super) announced: Mutex<Vec<Range<u64>>>,
    pub(super) bytes: AtomicU64,
    /// How long each request takes.
    pub(super) delay: Duration,
}

impl Watched {
    pub(super) fn new(inner: impl Store + 'static) -> Arc<Watched> {
        Watched::slow(inner, Duration::ZERO)
    }

    pub(super) fn slow(inner: impl Store + 'static, delay: Duration) -> Arc<Watched> {
        let (asked, announced, bytes) = (Mutex::default(), Mutex::default(), AtomicU64::new(0));
        Arc::new(Watched { inner: Arc::new(inner), asked, announced, bytes, delay })
    }

    /// What was asked for since the last call.
    pub(super) fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Store for Watched {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.inner.stat(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        std::thread::sleep(self.delay);
        self.asked.lock().unwrap().extend(ranges.iter().cloned());
        self.bytes.fetch_add(ranges.iter().map(|range| range.end - range.start).sum(), Relaxed);
        self.inner.read(shard, ranges)
    }

    fn room_ahead(&self) -> Option<u64> {
        Some(1 << 20)
    }

    fn will_read(&self, _: &Shard, ranges: &[Range<u64>]) {
        self.announced.lock().unwrap().extend(ranges.iter().cloned());
    }
}

/// The bytes of a made-up object.
pub(super) fn made(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::at(seed, 0, 0, 0);
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}

/// A store with one object `a`.
pub(super) fn one_object(len: usize) -> (Arc<Watched>, Shard, Vec<u8>) {
    let bytes = made(len, 5);
    let memory = MemoryStore::new();
    memory.put("a", bytes.clone());
    let shard = memory.stat_one("a").unwrap();
    (Watched::new(memory), shard, bytes)
}

/// Opens a cache with small chunks.
pub(super) fn open(inner: &Arc<Watched>, folder: &Path, chunk: u64, limit: u64) -> Arc<CacheStore> {
    let inner = Arc::clone(inner) as Arc<dyn Store>;
    let cache = CacheStore::open(inner, CacheOptions::new(folder).chunk(chunk).limit(limit)).unwrap();
    assert_eq!(cache.warning(), None);
    cache
}

/// Bytes of all files of chunks.
pub(super) fn on_disk(folder: &Path) -> u64 {
    tools::objects(folder).map_or(0, |all| all.iter().map(|object| object.bytes).sum())
}

/// Waits until something holds.
pub(super) fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{what} never came");
}
