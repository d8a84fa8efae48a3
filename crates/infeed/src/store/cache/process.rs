//! What a cache has in memory, for one process.
//!
//! After a fork the child has copies of all locks and none of the threads that would release them. It gets a new one of these at its
//! first use, and leaves the old one alone.

use super::{
    ahead::Ahead,
    claim::{Attempt, Claim},
    file::Checked,
    handles::Handles,
    index::{Index, Wish},
    object::{ChunkId, Object},
    stats::{Counters, add},
};
use infeed_core::{Foresight, Hold, Shard};
use std::{
    collections::HashMap,
    io,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// After this many announcements without a missing chunk, no more are wanted until one is missed.
const WARM: u32 = 1024;
/// Chunks whose uses are collected before the index hears of them.
const USED: usize = 1024;

/// The state of one process.
#[derive(Debug)]
pub(super) struct Process {
    pid: u32,
    /// `None` where the folder cannot be written to.
    pub(super) index: Option<Mutex<Index>>,
    pub(super) checked: Mutex<HashMap<ChunkId, Checked>>,
    pub(super) handles: Handles,
    pub(super) objects: Mutex<HashMap<Shard, Option<Arc<Object>>>>,
    pub(super) flights: Mutex<HashMap<ChunkId, Arc<Flight>>>,
    /// Uses that the index does not know of yet: hits do not wait for its lock.
    pub(super) used: Mutex<HashMap<ChunkId, u64>>,
    pub(super) future: Mutex<Option<Arc<Future>>>,
    pub(super) ahead: Arc<Ahead>,
    /// How many announcements in a row found all their chunks here.
    warm: AtomicU32,
    /// The state of a child of this process.
    child: OnceLock<Box<Process>>,
}

/// What the cache was told of the future.
#[derive(Debug)]
pub(super) struct Future {
    /// Tells it from what was told before.
    pub(super) number: u64,
    pub(super) foresight: Arc<dyn Foresight>,
}

impl Future {
    pub(super) fn new(foresight: Arc<dyn Foresight>) -> Arc<Future> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Arc::new(Future { number: NUMBERS.fetch_add(1, Relaxed), foresight })
    }
}

impl Process {
    pub(super) fn new(index: Option<Index>, future: Option<Arc<Future>>, chunk: u64) -> Process {
        Process {
            handles: Handles::new(index.as_ref().map_or(0, |index| index.policy().limit()), chunk),
            pid: std::process::id(),
            index: index.map(Mutex::new),
            checked: Mutex::default(),
            objects: Mutex::default(),
            flights: Mutex::default(),
            used: Mutex::default(),
            future: Mutex::new(future),
            ahead: Arc::default(),
            warm: AtomicU32::new(0),
            child: OnceLock::new(),
        }
    }

    /// The state of the process that calls.
    pub(super) fn current(&self, root: &Path, limit: u64, chunk: u64) -> &Process {
        let pid = std::process::id();
        let mut state = self;
        while state.pid != pid {
            state = state.child.get_or_init(|| {
                let index = state.index.as_ref().and_then(|_| Index::open(root, limit, false).ok());
                // Not waited for: the thread that held it may not exist here.
                let future = state.future.try_lock().ok().and_then(|held| held.clone());
                Box::new(Process::new(index, future, chunk))
            });
        }
        state
    }

    /// Notes that bytes of a chunk were used.
    pub(super) fn touch(&self, id: ChunkId, bytes: u64) {
        let mut used = self.used.hold();
        *used.entry(id).or_default() += bytes;
        // Rows of a chunk are mostly used soon after each other: they count as one use.
        if used.len() >= USED
            && let Some(Ok(mut index)) = self.index.as_ref().map(Mutex::try_lock)
        {
            index.touch(&mut used);
        }
        // While somebody holds the index for long, some of the uses are enough.
        if used.len() >= 8 * USED {
            used.clear();
        }
    }

    /// Notes whether an announcement, or a read, found everything here.
    pub(super) fn found(&self, all: bool) {
        if !all {
            self.warm.store(0, Relaxed);
        } else if self.warm.load(Relaxed) < WARM {
            self.warm.fetch_add(1, Relaxed);
        }
    }

    /// Whether announcements only cost time, because everything is here.
    pub(super) fn is_warm(&self) -> bool {
        self.warm.load(Relaxed) >= WARM
    }

    /// Whether a chunk is there, as far as this process knows.
    pub(super) fn has(&self, id: ChunkId) -> bool {
        self.checked.hold().contains_key(&id)
    }

    /// Forgets chunks that are gone.
    pub(super) fn forget(&self, ids: &[ChunkId]) {
        self.handles.close(ids);
        let mut checked = self.checked.hold();
        ids.iter().for_each(|id| {
            checked.remove(id);
        });
    }

    /// Works with the index, which then knows of all uses.
    pub(super) fn with_index<T>(&self, work: impl FnOnce(&mut Index, Option<&Future>) -> T) -> Option<T> {
        let future = self.future.hold().clone();
        let mut index = self.index.as_ref()?.hold();
        index.touch(&mut self.used.hold());
        Some(work(&mut index, future.as_deref()))
    }

    /// Begins to fetch a chunk, unless somebody does already. Its place in the cache is reserved before it is fetched, so that
    /// nothing is fetched in vain.
    pub(super) fn begin(&self, object: &Arc<Object>, wish: Wish, counters: &Counters) -> io::Result<Begun> {
        if let Some(flight) = self.flights.hold().get(&wish.id).cloned() {
            return Ok(match flight.take() {
                Some(claim) => Begun::Mine(claim, flight),
                None => Begun::Busy(Some(flight)),
            });
        }
        let wanted = self.with_index(|index, future| {
            index.know(object);
            index.would_keep(wish, future)
        });
        if wanted != Some(true) {
            return Ok(Begun::Unwanted);
        }
        Ok(match Claim::attempt(object, wish.id.1)? {
            Attempt::Taken(claim) => {
                let room = self.with_index(|index, future| index.reserve(wish, future)).transpose()?;
                let Some(gone) = room.flatten() else { return Ok(Begun::Unwanted) };
                self.forget(&gone);
                add(&counters.evictions, gone.len() as u64);
                let flight = Arc::new(Flight::default());
                self.flights.hold().insert(wish.id, Arc::clone(&flight));
                Begun::Mine(claim, flight)
            }
            Attempt::Present => Begun::Present,
            Attempt::Busy => Begun::Busy(None),
        })
    }

    /// Fetches nothing ahead any more.
    pub(super) fn close(&self) {
        for (id, flight) in self.ahead.close() {
            if let Some(claim) = flight.take() {
                drop(claim);
                self.give_up(id);
            }
            self.end(id, &flight);
        }
    }

    /// Nothing came of a chunk that was reserved.
    pub(super) fn give_up(&self, id: ChunkId) {
        let nothing = Wish { id, bytes: 0 };
        // What cannot be written down is found when somebody needs the room.
        let _ = self.with_index(|index, _| index.settle(&[(nothing, false)]));
    }

    /// A chunk was fetched, or could not be.
    pub(super) fn end(&self, id: ChunkId, flight: &Arc<Flight>) {
        let mut flights = self.flights.hold();
        if flights.get(&id).is_some_and(|own| Arc::ptr_eq(own, flight)) {
            flights.remove(&id);
        }
        drop(flights);
        flight.finish();
    }
}

/// What became of the wish to fetch a chunk.
#[derive(Debug)]
pub(super) enum Begun {
    /// The caller fetches it.
    Mine(Claim, Arc<Flight>),
    /// It is in the cache by now.
    Present,
    /// Another thread, or with `None` another process, fetches it.
    Busy(Option<Arc<Flight>>),
    /// It would not be kept.
    Unwanted,
}

/// A chunk on its way, for other threads that need it.
#[derive(Debug, Default)]
pub(super) struct Flight {
    state: Mutex<FlightState>,
    landed: Condvar,
}

#[derive(Debug, Default)]
struct FlightState {
    /// The claim, while nobody has begun to fetch it.
    queued: Option<Claim>,
    done: bool,
}

impl Flight {
    /// Lets it wait for its turn.
    pub(super) fn put(&self, claim: Claim) {
        self.state.hold().queued = Some(claim);
    }

    /// The claim, for the first who takes it.
    pub(super) fn take(&self) -> Option<Claim> {
        self.state.hold().queued.take()
    }

    fn finish(&self) {
        self.state.hold().done = true;
        self.landed.notify_all();
    }

    /// Waits until it is over, at most for a while.
    pub(super) fn wait(&self, most: Duration) {
        let state = self.state.hold();
        if !state.done {
            drop(self.landed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner));
        }
    }
}
