//! A store that fails on purpose: short reads, errors, bad sectors, truncated files, delays.
//!
//! Tests wrap any store in it. Faults are a function of the seed, the object, the ranges and how often they were
//! requested, so a failure can be reproduced with any number of threads.

use bytes::Bytes;
use infeed_core::{Error, Found, Hold, Result, Rng, Shard, Store};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    io::{Error as IoError, ErrorKind},
    ops::Range,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// The rate of each kind of fault, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultRates {
    /// The seed of all random choices.
    pub seed: u64,
    /// Requests that fail once; a retry may succeed.
    pub errors: f64,
    /// Requests of which one range silently has fewer bytes than requested.
    pub short: f64,
    /// Blocks of 4 KiB that can never be read.
    pub bad_blocks: f64,
    /// Objects whose last part is missing.
    pub truncated: f64,
    /// Requests that take a millisecond longer.
    pub delays: f64,
}

impl Default for FaultRates {
    fn default() -> Self {
        FaultRates { seed: 0, errors: 0.0, short: 0.0, bad_blocks: 0.0, truncated: 0.0, delays: 0.0 }
    }
}

/// Rates, whether they are active, and counters. Shared by all stores opened with it.
#[derive(Debug, Default)]
pub struct Faults {
    rates: FaultRates,
    armed: AtomicBool,
    asked: Mutex<HashMap<u64, u64>>,
    counts: [AtomicU64; 5],
}

/// The names of the counters in [`Faults::counts`].
pub const FAULTS: [&str; 5] = ["errors", "short", "bad_blocks", "truncated", "delays"];

impl Faults {
    /// Creates faults that start with [`Faults::arm`].
    pub fn new(rates: FaultRates) -> Arc<Self> {
        Arc::new(Faults { rates, ..Faults::default() })
    }

    /// Turns faults on or off.
    pub fn arm(&self, armed: bool) {
        self.armed.store(armed, Relaxed);
    }

    /// Returns how many of each of [`FAULTS`] have been injected.
    pub fn counts(&self) -> [u64; 5] {
        std::array::from_fn(|kind| self.counts[kind].load(Relaxed))
    }

    fn count(&self, kind: usize) {
        self.counts[kind].fetch_add(1, Relaxed);
    }
}

static WANTED: Mutex<Option<Arc<Faults>>> = Mutex::new(None);

/// Makes every store opened from now on fail like this; `None` ends it. For tests of whole pipelines.
pub fn inject(faults: Option<Arc<Faults>>) {
    *WANTED.hold() = faults;
}

/// Returns the argument of the last [`inject`].
pub(super) fn wanted() -> Option<Arc<Faults>> {
    WANTED.hold().clone()
}

/// Faults that a system reports and that are gone a moment later: EIO, EINTR, EAGAIN, ECONNRESET, ETIMEDOUT, ESTALE.
const PASSING: [i32; 6] = [5, 4, 11, 104, 110, 116];

/// Size of the blocks that can be bad.
const BLOCK: u64 = 4096;

/// Any store, with faults.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Arc<Faults>,
}

impl FaultyStore {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>, faults: Arc<Faults>) -> Self {
        FaultyStore { inner, faults }
    }

    /// A random choice that depends only on the seed and these numbers.
    fn chance(&self, share: f64, name: u64, place: u64, kind: u64) -> bool {
        share > 0.0 && Rng::at(self.faults.rates.seed, name, place, kind).chance(share)
    }

    /// The faults of one request: an error, or one of the ranges and how many of its bytes are returned.
    fn fate(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Option<(usize, u64)>> {
        let (rates, name) = (&self.faults.rates, hash(&*shard.name));
        let request = hash((&*shard.name, ranges));
        let times = {
            let mut asked = self.faults.asked.hold();
            let times = asked.entry(request).or_default();
            *times += 1;
            *times
        };
        // A request of many ranges fails no more often than one of a single range.
        let once = hash((request, times));
        if self.chance(rates.delays, name, once, 4) {
            self.faults.count(4);
            std::thread::sleep(Duration::from_millis(1));
        }
        ranges.iter().try_for_each(|range| self.lasting(shard, name, range))?;
        if self.chance(rates.errors, name, once, 0) {
            self.faults.count(0);
            let which = Rng::at(rates.seed, name, once, 6).below(PASSING.len() as u64) as usize;
            return Err(Error::io("read", &*shard.name, IoError::from_raw_os_error(PASSING[which])));
        }
        if !self.chance(rates.short, name, once, 1) {
            return Ok(None);
        }
        let mut rng = Rng::at(rates.seed, name, once, 5);
        let which = rng.below(ranges.len().max(1) as u64) as usize;
        Ok(ranges.get(which).filter(|range| range.start < range.end).map(|range| {
            self.faults.count(1);
            (which, rng.below(range.end - range.start))
        }))
    }

    /// The fault of a range that is there at every try.
    fn lasting(&self, shard: &Shard, name: u64, range: &Range<u64>) -> Result<()> {
        let rates = &self.faults.rates;
        if self.chance(rates.truncated, name, 0, 3) {
            let kept = shard.size / 2 + Rng::at(rates.seed, name, 1, 3).below(shard.size / 2 + 1);
            if range.end > kept {
                self.faults.count(3);
                let what = format!("injected: it ends at byte {kept} now");
                return Err(Error::Changed { path: shard.name.to_string(), what });
            }
        }
        if range.start < range.end {
            let blocks = range.start / BLOCK..(range.end - 1) / BLOCK + 1;
            if let Some(bad) = blocks.into_iter().find(|block| self.chance(rates.bad_blocks, name, *block, 2))
            {
                self.faults.count(2);
                let what = format!("injected: the block at byte {} is bad", bad * BLOCK);
                return Err(Error::io("read", &*shard.name, IoError::other(what)));
            }
        }
        Ok(())
    }
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl Store for FaultyStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.inner.stat(names)
    }

    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        self.inner.probe(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut bytes = self.inner.read(shard, ranges)?;
        if self.faults.armed.load(Relaxed)
            && let Some((which, kept)) = self.fate(shard, ranges)?
        {
            bytes[which].truncate(kept as usize);
        }
        Ok(bytes)
    }

    fn read_below(&self, names: &[String], folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        let all = self.inner.read_below(names, folders, limit)?;
        if self.faults.armed.load(Relaxed) {
            for (name, bytes) in names.iter().zip(&all) {
                let size = bytes.len() as u64;
                let shard = Shard { name: name.as_str().into(), size, modified: None, version: None };
                if self.fate(&shard, std::slice::from_ref(&(0..size)))?.is_some() {
                    // The caller does not know how long the file is: a short read must be an error here.
                    let what = "injected: fewer bytes came than the file has";
                    return Err(Error::io("read", name, IoError::new(ErrorKind::UnexpectedEof, what)));
                }
            }
        }
        Ok(all)
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        self.inner.will_read(shard, ranges);
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.inner.ahead_for(run, step, done);
    }

    fn network(&self, name: &str) -> Option<&'static str> {
        self.inner.network(name)
    }

    fn room_ahead(&self) -> Option<u64> {
        self.inner.room_ahead()
    }

    fn forget_ahead(&self) {
        self.inner.forget_ahead();
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.inner.set_memory(bytes);
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.inner.put(name, bytes)
    }

    // No map and no stream: both would bypass the faults, so readers fall back to ranges.

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.inner.names(folder)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        self.inner.find(path)
    }

    fn local_path(&self, name: &str) -> Option<PathBuf> {
        self.inner.local_path(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;
    use infeed_core::StoreExt;

    fn outcomes(rates: FaultRates) -> (Vec<Result<Bytes>>, [u64; 5]) {
        let bytes: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        let inner: MemoryStore = [("a", bytes)].into_iter().collect();
        let faults = Faults::new(rates);
        faults.arm(true);
        let store = FaultyStore::new(Arc::new(inner), Arc::clone(&faults));
        let shard = store.stat_one("a").unwrap();
        let reads = (0..256u64).map(|at| store.read_one(&shard, at * 4096..(at + 1) * 4096)).collect();
        (reads, faults.counts())
    }

    #[test]
    fn faults_follow_the_seed() {
        let rates = FaultRates { seed: 7, errors: 0.1, short: 0.1, bad_blocks: 0.1, ..FaultRates::default() };
        let (first, counts) = outcomes(rates);
        let (again, same) = outcomes(rates);
        let shape = |all: &[Result<Bytes>]| -> Vec<Option<usize>> {
            all.iter().map(|read| read.as_ref().ok().map(Bytes::len)).collect()
        };
        assert_eq!((shape(&first), counts), (shape(&again), same));
        assert!(counts[0] > 5 && counts[1] > 5 && counts[2] > 5, "{counts:?}");
        assert_ne!(shape(&first), shape(&outcomes(FaultRates { seed: 8, ..rates }).0));
        assert_eq!(outcomes(FaultRates::default()).1, [0; 5]);
    }

    #[test]
    fn what_is_cut_off_cannot_be_read() {
        let (reads, counts) = outcomes(FaultRates { truncated: 1.0, ..FaultRates::default() });
        let good = reads.iter().take_while(|read| read.is_ok()).count();
        assert!((128..256).contains(&good) && reads[good..].iter().all(Result::is_err), "{good}");
        assert_eq!(counts[3], 256 - good as u64);
    }
}
