//! The cache of decoded blocks: each block is decoded once while it is needed. Sources whose unit of reading is larger than
//! a row share it: tables and arrays.
//!
//! Most of the memory is reserved for blocks that are decoded a second time. The system must clear fresh pages, which
//! costs as much as decoding or more, so a single epoch reuses a small part of the memory. Blocks that come back in a
//! later epoch are kept permanently. If all blocks fit, all are kept, and from the third epoch on nothing is decoded.
//! Otherwise as many as fit are kept: at once if decoding is slow, else every fourth, so that no single epoch pays for
//! all of the memory. If the small part turns out to be too small for the rows that are mixed at a time, it grows.

mod spares;
#[cfg(test)]
mod tests;
pub use spares::{Spares, probe};

use crate::{Error, Hold, Result, WaitHeld};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Block, and which fields of it.
pub type Key = (usize, u32);

/// A decoded block.
pub trait Block: Send + Sync {
    /// Returns its size in memory.
    fn bytes(&self) -> u64;

    /// Gives its buffers back when it is evicted.
    fn give_back(self, spares: &Spares);
}

/// Default memory for blocks.
const MEMORY: u64 = 1 << 30;

/// From this many nanoseconds per byte on, decoding counts as slow. Plain numbers take less than one, and clearing
/// fresh pages for them up to two more.
const SLOW: u128 = 6;

/// Of quickly decoded blocks that come back, one in this many is kept.
const ONE_IN: u32 = 4;

/// This many blocks that come back right after eviction mean too little room, as opposed to an epoch that begins with
/// the blocks the last one ended with.
const EARLY: u32 = 4;

/// The part of the memory for blocks that were decoded once: some million rows of typical tables.
const PASSING: u64 = 256 << 20;

#[derive(Debug)]
enum Slot<B> {
    /// A thread is decoding it.
    Busy,
    Ready {
        block: Arc<B>,
        used: u64,
        /// Whether it stays while there is room, because it came back once.
        kept: bool,
    },
    /// Cannot be decoded; retrying does not help.
    Bad(Error),
}

#[derive(Debug)]
struct State<B> {
    slots: HashMap<Key, Slot<B>>,
    /// Ready blocks by last use.
    by_use: BTreeMap<u64, Key>,
    /// Bytes of all ready blocks, and of those that are kept.
    bytes: u64,
    kept: u64,
    /// Room for blocks that are not kept.
    passing: u64,
    /// Number of blocks that came back right after eviction.
    early: u32,
    /// Number of blocks that came back and could have been kept.
    back: u32,
    /// Evicted blocks, with the value of `decoded` at eviction.
    gone: HashMap<Key, u64>,
    /// Bytes of all blocks ever decoded, and of the distinct ones among them.
    decoded: u64,
    different: u64,
    clock: u64,
}

impl<B> State<B> {
    fn new() -> Self {
        State {
            slots: HashMap::new(),
            by_use: BTreeMap::new(),
            bytes: 0,
            kept: 0,
            passing: PASSING,
            early: 0,
            back: 0,
            gone: HashMap::new(),
            decoded: 0,
            different: 0,
            clock: 0,
        }
    }

    /// Returns whether a block that was just decoded is to be kept.
    fn keeps(&mut self, key: Key, bytes: u64, memory: u64, slow: bool) -> bool {
        let Some(then) = self.gone.remove(&key) else {
            self.different += bytes;
            return false;
        };
        // Everything seen so far fits: later epochs decode nothing.
        if self.different <= memory {
            return true;
        }
        if self.decoded - then <= (self.passing / 8).max(4 * bytes) {
            // It was still needed when it was evicted.
            self.early += 1;
            if self.early.is_multiple_of(EARLY) {
                self.passing = (2 * self.passing).min(memory);
            }
        }
        if self.kept + bytes > memory.saturating_sub(self.passing) {
            return false;
        }
        self.back += u32::from(!slow);
        slow || self.back.is_multiple_of(ONE_IN)
    }
}

/// The cache.
#[derive(Debug)]
pub struct BlockCache<B> {
    state: Mutex<State<B>>,
    changed: Condvar,
    memory: AtomicU64,
    /// Buffers of evicted blocks.
    spares: Spares,
    decoded: AtomicU64,
}

impl<B: Block> Default for BlockCache<B> {
    fn default() -> Self {
        BlockCache {
            state: Mutex::new(State::new()),
            changed: Condvar::new(),
            memory: AtomicU64::new(MEMORY),
            spares: Spares::default(),
            decoded: AtomicU64::new(0),
        }
    }
}

impl<B: Block> BlockCache<B> {
    /// Returns the buffers of evicted blocks.
    pub fn spares(&self) -> &Spares {
        &self.spares
    }

    /// Returns how many blocks were decoded.
    pub fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }

    /// Sets how much memory blocks may take; `None` is 1 GiB.
    pub fn set_memory(&self, bytes: Option<u64>) {
        let bytes = bytes.unwrap_or(MEMORY);
        let before = self.memory.swap(bytes, Ordering::Relaxed);
        let mut state = self.lock();
        if bytes != before {
            // A block may have been too large for the memory before.
            state.slots.retain(|_, slot| !matches!(slot, Slot::Bad(_)));
        }
        self.trim(&mut state, false);
    }

    /// Sets the part of the memory for blocks that were decoded once. Where blocks come back within an epoch, as chunks do that boxes
    /// share, that is all of it: then the block that was not used for the longest time goes first.
    pub fn set_passing(&self, bytes: u64) {
        self.lock().passing = bytes;
    }

    /// Whether so many bytes are more than the part of the memory for blocks that were decoded once.
    pub fn overflows(&self, bytes: u64) -> bool {
        bytes > self.lock().passing.min(self.memory.load(Ordering::Relaxed))
    }

    /// Evicts blocks that nobody needs before the next epoch, so that their memory is used again at once. Those that are kept for
    /// later epochs, and those in use, stay.
    pub fn release(&self, keys: impl IntoIterator<Item = Key>) {
        let mut state = self.lock();
        for key in keys {
            if let Some(Slot::Ready { block, used, kept: false }) = state.slots.get(&key)
                && Arc::strong_count(block) == 1
            {
                let (used, bytes) = (*used, block.bytes());
                state.bytes -= bytes;
                self.evict(&mut state, used, key);
            }
        }
    }

    /// Whether a block is decoded or being decoded.
    pub fn has(&self, key: Key) -> bool {
        self.lock().slots.contains_key(&key)
    }

    /// Returns these blocks, each decoded once however many threads want it. Blocks that no other thread is decoding
    /// come first, so threads that want the same blocks share the work instead of waiting for each other.
    pub fn get(&self, keys: &[Key], make: &dyn Fn(Key) -> Result<B>) -> Result<Vec<Arc<B>>> {
        let mut found: Vec<Option<Arc<B>>> = vec![None; keys.len()];
        let mut state = self.lock();
        loop {
            let mut free = None;
            let mut waiting = false;
            for (key, found) in keys.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
                let clock = state.clock + 1;
                match state.slots.get_mut(key) {
                    Some(Slot::Ready { block, used, .. }) => {
                        *found = Some(block.clone());
                        let before = std::mem::replace(used, clock);
                        state.by_use.remove(&before);
                        state.by_use.insert(clock, *key);
                        state.clock = clock;
                    }
                    Some(Slot::Busy) => waiting = true,
                    Some(Slot::Bad(error)) => return Err(error.clone()),
                    None => free = free.or(Some(*key)),
                }
            }
            if let Some(key) = free {
                state.slots.insert(key, Slot::Busy);
                drop(state);
                // If decoding panics, other threads must not wait forever.
                let guard = Unfinished { cache: self, key };
                let start = Instant::now();
                let made = make(key);
                let spent = start.elapsed();
                std::mem::forget(guard);
                state = self.lock();
                self.put(&mut state, key, made, spent)?;
            } else if waiting {
                state = self.changed.wait_held(state);
            } else {
                return Ok(found.into_iter().flatten().collect());
            }
        }
    }

    fn put(&self, state: &mut State<B>, key: Key, made: Result<B>, spent: Duration) -> Result<()> {
        self.changed.notify_all();
        match made {
            Ok(block) => {
                self.decoded.fetch_add(1, Ordering::Relaxed);
                state.clock += 1;
                let used = state.clock;
                let bytes = block.bytes();
                let slow = spent.as_nanos() >= SLOW * u128::from(bytes);
                let kept = state.keeps(key, bytes, self.memory.load(Ordering::Relaxed), slow);
                state.kept += if kept { bytes } else { 0 };
                state.bytes += bytes;
                state.decoded += bytes;
                state.by_use.insert(used, key);
                state.slots.insert(key, Slot::Ready { block: Arc::new(block), used, kept });
                self.trim(state, true);
                Ok(())
            }
            Err(error) => {
                match &error {
                    // I/O errors may be transient.
                    Error::Io { .. } | Error::NotFound { .. } => state.slots.remove(&key),
                    _ => state.slots.insert(key, Slot::Bad(error.clone())),
                };
                Err(error)
            }
        }
    }

    /// Evicts blocks until the rest fits. Blocks in use stay, because evicting them would not free memory; so does the newest if
    /// somebody is about to use it.
    fn trim(&self, state: &mut State<B>, newest_stays: bool) {
        let memory = self.memory.load(Ordering::Relaxed);
        let (mut bytes, mut all_kept) = (state.bytes, state.kept);
        let mut gone = vec![];
        for (used, key) in &state.by_use {
            let over = bytes > memory;
            if !(over || bytes - all_kept > state.passing) || newest_stays && *used == state.clock {
                break;
            }
            if let Some(Slot::Ready { block, kept, .. }) = state.slots.get(key)
                && (over || !kept)
                && Arc::strong_count(block) == 1
            {
                bytes -= block.bytes();
                all_kept -= if *kept { block.bytes() } else { 0 };
                gone.push((*used, *key));
            }
        }
        (state.bytes, state.kept) = (bytes, all_kept);
        for (used, key) in gone {
            self.evict(state, used, key);
        }
    }

    /// Removes a block whose bytes are no longer counted.
    fn evict(&self, state: &mut State<B>, used: u64, key: Key) {
        state.by_use.remove(&used);
        state.gone.insert(key, state.decoded);
        if let Some(Slot::Ready { block, .. }) = state.slots.remove(&key)
            && let Some(block) = Arc::into_inner(block)
        {
            block.give_back(&self.spares);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<B>> {
        self.state.hold()
    }
}

/// Clears the slot if its thread panicked.
struct Unfinished<'a, B: Block> {
    cache: &'a BlockCache<B>,
    key: Key,
}

impl<B: Block> Drop for Unfinished<'_, B> {
    fn drop(&mut self) {
        self.cache.lock().slots.remove(&self.key);
        self.cache.changed.notify_all();
    }
}
