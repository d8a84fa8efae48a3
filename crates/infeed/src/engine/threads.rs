//! The threads and what they share.

use super::{
    OnError, Options, Plan,
    feed::Feed,
    options::Settled,
    reader::read_pieces,
    state::{Flight, State},
    worker::make_samples,
};
use crate::{batch::Pool, order::World, trace::Trace};
use infeed_core::{Cursor, Error, Hold, Result, Scratch, WaitHeld};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// What the threads of an engine share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Arc<Plan>,
    pub(super) feed: Feed,
    pub(super) settled: Settled,
    pub(super) on_error: OnError,
    pub(super) error_limit: u64,
    pub(super) pool: Arc<Pool>,
    /// Scratch of workers that ended: decoders and buffers outlive the threads.
    pub(super) scratches: Arc<Mutex<Vec<Scratch>>>,
    pub(super) trace: Arc<Trace>,
    pub(super) world: World,
    state: Mutex<State>,
    /// For I/O threads: there may be something to read or to plan.
    pub(super) more_to_read: Condvar,
    /// For workers: a piece was read.
    pub(super) more_to_do: Condvar,
    /// For the consumer: a batch is done.
    pub(super) batch_done: Condvar,
    /// For whoever is about to fork: nobody is at work.
    quiet: Condvar,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.hold()
    }

    pub(super) fn wait<'a>(&self, on: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        on.wait_held(state)
    }

    /// Wakes a worker if one sleeps and there is something to do. Each that wakes looks for the next to wake; until it does,
    /// nobody else is woken, because waking costs more than a small batch.
    pub(super) fn wake_worker(&self, state: &mut State) {
        if state.idle_workers > state.woken && state.has_work() {
            state.woken += 1;
            self.more_to_do.notify_one();
        }
    }

    /// Tells the consumer that the oldest batch is done, if it waits.
    pub(super) fn tell(&self, state: &State) {
        if state.waiting > 0 && self.is_ready(state) {
            self.batch_done.notify_all();
        }
    }

    /// Wakes an I/O thread if one sleeps and reads are slow.
    pub(super) fn wake_reader(&self, state: &State) {
        if state.idle_readers > 0 && self.trace.pace.is_slow() {
            self.more_to_read.notify_one();
        }
    }

    /// A thread goes to work.
    pub(super) fn begin(&self, state: &mut State) {
        state.busy += 1;
    }

    /// A thread is back from work.
    pub(super) fn end(&self, state: &mut State) {
        state.busy -= 1;
        if state.paused && state.busy == 0 {
            self.quiet.notify_all();
        }
    }

    /// Lets nobody begin anything, and waits until nobody is at work, at most `patience`. A process that forks meanwhile
    /// has no lock that is held by a thread it does not have.
    pub(super) fn pause(&self, patience: Duration) {
        let mut state = self.lock();
        state.paused = true;
        let start = Instant::now();
        while state.busy > 0 {
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return;
            }
            state = self.quiet.wait_held_for(state, left);
        }
    }

    /// Lets everybody go on.
    pub(super) fn go_on(&self) {
        self.lock().paused = false;
        self.more_to_read.notify_all();
        self.more_to_do.notify_all();
    }

    fn is_ready(&self, state: &State) -> bool {
        state.stop || state.flights.front().is_some_and(|f| f.done.is_some())
    }

    /// Waits until the oldest batch is done, at most `patience`.
    pub(super) fn wait_ready(&self, patience: Duration) {
        let mut state = self.lock();
        let start = Instant::now();
        while !self.is_ready(&state) {
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return;
            }
            state.waiting += 1;
            state = self.batch_done.wait_held_for(state, left);
            state.waiting -= 1;
        }
    }

    fn stop(&self) {
        self.lock().stop = true;
        self.more_to_read.notify_all();
        self.more_to_do.notify_all();
        self.batch_done.notify_all();
    }
}

/// Threads that make one batch after the other, across the ends of epochs. Dropping it stops and joins them.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The process the threads live in: after a fork they are not there.
    process: u32,
    /// The cursor of the next batch it would give.
    pub(super) at: Cursor,
    /// Whether the last batch ended its epoch.
    pub(super) ended: bool,
}

impl Engine {
    /// Starts the threads. They make at most `limit` batches.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn start(
        plan: Arc<Plan>,
        start: Cursor,
        feed: Feed,
        limit: u64,
        settled: Settled,
        options: &Options,
        pool: Arc<Pool>,
        scratches: Arc<Mutex<Vec<Scratch>>>,
        trace: Arc<Trace>,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            feed,
            plan,
            settled,
            on_error: options.on_error,
            error_limit: options.error_limit,
            pool,
            scratches,
            trace,
            world: options.world.clone(),
            state: Mutex::new(State::new(settled, limit)),
            more_to_read: Condvar::new(),
            more_to_do: Condvar::new(),
            batch_done: Condvar::new(),
            quiet: Condvar::new(),
        });
        let mut engine =
            Engine { shared, threads: vec![], process: std::process::id(), at: start, ended: false };
        let given = matches!(engine.shared.feed, Feed::Given(..));
        if limit > 0 || given {
            for i in 0..settled.io_threads {
                engine.spawn(format!("infeed-io-{i}"), read_pieces)?;
            }
            for i in 0..settled.threads {
                engine.spawn(format!("infeed-cpu-{i}"), make_samples)?;
            }
        }
        Ok(engine)
    }

    fn spawn(&mut self, name: String, life: fn(&Shared)) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let body = move || {
            if catch_unwind(AssertUnwindSafe(|| life(&shared))).is_err() {
                // Samples are guarded one by one, so this is a defect of the engine itself. Better stopped than hanging.
                let error = Error::Internal { what: "a loader thread panicked".to_owned() };
                let mut state = shared.lock();
                if state.flights.is_empty() {
                    state.flights.push_back(Flight::failed(error));
                } else if let Some(front) = state.flights.front_mut() {
                    front.done = Some(Err(error));
                }
                drop(state);
                shared.batch_done.notify_all();
            }
        };
        match Builder::new().name(name).spawn(body) {
            Ok(handle) => self.threads.push(handle),
            Err(e) => return Err(Error::io("start a thread for", "the loader", e)),
        }
        Ok(())
    }

    /// Adds batches to those that are given from outside.
    pub(super) fn give(&self, batches: Vec<Vec<u64>>) {
        let Feed::Given(_, steps) = &self.shared.feed else { return };
        let mut state = self.shared.lock();
        state.limit += batches.len() as u64;
        steps.hold().extend(batches);
        self.shared.wake_worker(&mut state);
        self.shared.wake_reader(&state);
    }

    /// Whether the oldest batch is done.
    pub(super) fn is_ready(&self) -> bool {
        self.shared.is_ready(&self.shared.lock())
    }

    pub(super) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// The oldest batch, when it is done. `None` when `patience` is over.
    pub(super) fn take(&mut self, start: Instant, patience: Option<Duration>) -> Result<Option<Flight>> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        loop {
            if state.flights.front().is_some_and(|f| f.done.is_some()) {
                let flight = state.flights.pop_front();
                (self.at, self.ended) = flight.as_ref().map_or((self.at, false), |f| (f.after, f.ends_epoch));
                shared.wake_reader(&state);
                if !state.well_ahead() {
                    shared.wake_worker(&mut state);
                }
                return Ok(flight);
            }
            if state.stop {
                return Err(Error::argument("the loader was closed while somebody waited for a batch"));
            }
            let left = patience.map(|patience| patience.saturating_sub(start.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            state.waiting += 1;
            state = match left {
                None => shared.wait(&shared.batch_done, state),
                Some(left) => shared.batch_done.wait_held_for(state, left),
            };
            state.waiting -= 1;
        }
    }
}

impl Drop for Engine {
    /// Stops and joins every thread. Waits at most for the sample each worker is at.
    fn drop(&mut self) {
        if !self.is_here() {
            // The threads exist in the parent only; joining them here would wait for ever.
            std::mem::take(&mut self.threads).into_iter().for_each(std::mem::forget);
            return;
        }
        self.shared.stop();
        for thread in std::mem::take(&mut self.threads) {
            let _ = thread.join();
        }
    }
}
