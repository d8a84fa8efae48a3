//! Decoded blocks: each is made once while somebody needs it.
//!
//! Most of the memory is only for blocks that are decoded a second time. Fresh pages must be cleared by the system, which costs
//! as much as decoding or more, so an epoch that is the only one goes through a small part of the memory again and again.
//! Blocks that come back in a later epoch are kept for good. Where all blocks fit, all of them are: from the third epoch on
//! nothing is decoded. Otherwise as many as there is room for: at once where decoding is slow, else every fourth, so that no
//! epoch pays for all of the memory. Where the small part turns out to be too small for the rows that
//! are mixed at a time, it grows.

use crate::block::{Decoded, memory::Spares};
use infeed_core::{Error, Hold, Result, WaitHeld};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Block and set of fields.
pub(crate) type Key = (usize, u32);

/// Memory for blocks unless it is said otherwise.
pub(crate) const MEMORY: u64 = 1 << 30;

/// From so many nanoseconds per byte on decoding is slow. Plain numbers take less than one, and clearing fresh pages for them
/// up to two more.
const SLOW: u128 = 6;

/// Of blocks that are decoded quickly one in so many is kept when it comes back.
const ONE_IN: u32 = 4;

/// So many blocks that come back right after they went are a sign of too little room, and not of an epoch that begins with
/// what the last one ended with.
const EARLY: u32 = 4;

/// The part of it for blocks that were decoded once: some million rows of usual tables.
const PASSING: u64 = 256 << 20;

#[derive(Debug)]
enum Slot {
    /// A thread is at it.
    Busy,
    Ready {
        block: Arc<Decoded>,
        used: u64,
        /// Whether it stays while there is room, having come back once.
        kept: bool,
    },
    /// Cannot be decoded, whoever tries.
    Bad(Error),
}

#[derive(Debug)]
struct State {
    slots: HashMap<Key, Slot>,
    /// Ready blocks by when they were used.
    by_use: BTreeMap<u64, Key>,
    /// Of all ready blocks, and of those among them that are kept.
    bytes: u64,
    kept: u64,
    /// Room for those that are not.
    passing: u64,
    /// Blocks that came back right after they went.
    early: u32,
    /// Blocks that came back and could have been kept.
    back: u32,
    /// Blocks that were let go, with what `decoded` was then.
    gone: HashMap<Key, u64>,
    /// Bytes of all blocks that were ever decoded, and of different ones among them.
    decoded: u64,
    different: u64,
    clock: u64,
}

impl State {
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

    /// Whether a block that was just decoded is to stay.
    fn keeps(&mut self, key: Key, bytes: u64, memory: u64, slow: bool) -> bool {
        let Some(then) = self.gone.remove(&key) else {
            self.different += bytes;
            return false;
        };
        // All that was ever seen fits: the next epochs decode nothing.
        if self.different <= memory {
            return true;
        }
        if self.decoded - then <= (self.passing / 8).max(4 * bytes) {
            // It was still needed when it went.
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
pub(crate) struct Cache {
    state: Mutex<State>,
    changed: Condvar,
    memory: AtomicU64,
    /// Memory of blocks that went.
    pub(crate) spares: Spares,
    /// How many blocks were decoded.
    pub(crate) decoded: AtomicU64,
}

impl Cache {
    pub(crate) fn new() -> Self {
        Cache {
            state: Mutex::new(State::new()),
            changed: Condvar::new(),
            memory: AtomicU64::new(MEMORY),
            spares: Spares::default(),
            decoded: AtomicU64::new(0),
        }
    }

    pub(crate) fn set_memory(&self, bytes: u64) {
        self.memory.store(bytes, Ordering::Relaxed);
        let mut state = self.lock();
        self.trim(&mut state);
    }

    #[cfg(test)]
    pub(crate) fn set_passing(&self, bytes: u64) {
        self.lock().passing = bytes;
    }

    /// These blocks, each decoded once whoever else wants it. Blocks that nobody is at come first: threads that want the
    /// same blocks share the work instead of waiting for each other.
    pub(crate) fn get(
        &self,
        keys: &[Key],
        make: &dyn Fn(Key) -> Result<Decoded>,
    ) -> Result<Vec<Arc<Decoded>>> {
        let mut found: Vec<Option<Arc<Decoded>>> = vec![None; keys.len()];
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
                // Should decoding panic, others must not wait for ever.
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

    fn put(&self, state: &mut State, key: Key, made: Result<Decoded>, spent: Duration) -> Result<()> {
        self.changed.notify_all();
        match made {
            Ok(block) => {
                self.decoded.fetch_add(1, Ordering::Relaxed);
                state.clock += 1;
                let used = state.clock;
                let slow = spent.as_nanos() >= SLOW * u128::from(block.bytes);
                let kept = state.keeps(key, block.bytes, self.memory.load(Ordering::Relaxed), slow);
                state.kept += if kept { block.bytes } else { 0 };
                state.bytes += block.bytes;
                state.decoded += block.bytes;
                state.by_use.insert(used, key);
                state.slots.insert(key, Slot::Ready { block: Arc::new(block), used, kept });
                self.trim(state);
                Ok(())
            }
            Err(error) => {
                match &error {
                    // What the operating system refused may work the next time.
                    Error::Io { .. } | Error::NotFound { .. } => state.slots.remove(&key),
                    _ => state.slots.insert(key, Slot::Bad(error.clone())),
                };
                Err(error)
            }
        }
    }

    /// Lets go of blocks until the rest fits. Those in use stay: their memory would not come back.
    fn trim(&self, state: &mut State) {
        let memory = self.memory.load(Ordering::Relaxed);
        let (mut bytes, mut all_kept) = (state.bytes, state.kept);
        let mut gone = vec![];
        for (used, key) in &state.by_use {
            let over = bytes > memory;
            if !(over || bytes - all_kept > state.passing) || *used == state.clock {
                break;
            }
            if let Some(Slot::Ready { block, kept, .. }) = state.slots.get(key)
                && (over || !kept)
                && Arc::strong_count(block) == 1
            {
                bytes -= block.bytes;
                all_kept -= if *kept { block.bytes } else { 0 };
                gone.push((*used, *key));
            }
        }
        (state.bytes, state.kept) = (bytes, all_kept);
        for (used, key) in gone {
            state.by_use.remove(&used);
            state.gone.insert(key, state.decoded);
            if let Some(Slot::Ready { block, .. }) = state.slots.remove(&key)
                && let Some(block) = Arc::into_inner(block)
            {
                self.spares.give(block.memory);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.hold()
    }
}

/// Clears a slot whose thread did not come back.
struct Unfinished<'a> {
    cache: &'a Cache,
    key: Key,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.cache.lock().slots.remove(&self.key);
        self.cache.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
