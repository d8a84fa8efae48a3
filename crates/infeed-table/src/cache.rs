//! Decoded blocks: each is made once while somebody needs it, and the least used ones go when memory runs out.

use crate::{decoded::Decoded, packed::Spares};
use infeed_core::{Error, Hold, Result, WaitHeld};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

/// Block and set of fields.
pub(crate) type Key = (usize, u32);

/// Memory for blocks unless it is said otherwise.
pub(crate) const MEMORY: u64 = 1 << 30;

#[derive(Debug)]
enum Slot {
    /// A thread is at it.
    Busy,
    Ready {
        block: Arc<Decoded>,
        used: u64,
    },
    /// Cannot be decoded, whoever tries.
    Bad(Error),
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<Key, Slot>,
    /// Ready blocks by when they were used.
    by_use: BTreeMap<u64, Key>,
    bytes: u64,
    clock: u64,
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
            state: Mutex::default(),
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
                    Some(Slot::Ready { block, used }) => {
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
                let made = make(key);
                std::mem::forget(guard);
                state = self.lock();
                self.put(&mut state, key, made)?;
            } else if waiting {
                state = self.changed.wait_held(state);
            } else {
                return Ok(found.into_iter().flatten().collect());
            }
        }
    }

    fn put(&self, state: &mut State, key: Key, made: Result<Decoded>) -> Result<()> {
        self.changed.notify_all();
        match made {
            Ok(block) => {
                self.decoded.fetch_add(1, Ordering::Relaxed);
                state.clock += 1;
                let used = state.clock;
                state.bytes += block.bytes;
                state.by_use.insert(used, key);
                state.slots.insert(key, Slot::Ready { block: Arc::new(block), used });
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
        let newest = state.clock;
        let mut gone = vec![];
        let mut bytes = state.bytes;
        for (used, key) in &state.by_use {
            if bytes <= memory || *used == newest {
                break;
            }
            if let Some(Slot::Ready { block, .. }) = state.slots.get(key)
                && Arc::strong_count(block) == 1
            {
                bytes -= block.bytes;
                gone.push((*used, *key));
            }
        }
        state.bytes = bytes;
        for (used, key) in gone {
            state.by_use.remove(&used);
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
