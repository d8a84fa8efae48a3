//! The engine's threads and what they share.

use super::{
    Decode, OnError, Plan,
    activity::Activity,
    feed::Feed,
    options::Settled,
    process::Process,
    reader::read_pieces,
    scout::Scout,
    sleep::{Board, Sleep},
    state::{Flight, State},
    worker::make_samples,
};
use crate::{
    batch::{ColumnLayout, Pool},
    order::World,
    trace::Trace,
};
use infeed_core::{Budget, Cursor, Error, Hold, Result, Scratch, Signals, signals};
use std::{
    ops::Deref,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// How long the end of an engine waits for a thread at work.
const JOIN: Duration = Duration::from_millis(1500);

/// What an engine works with. It belongs to the loader and outlives the engine.
#[derive(Debug)]
pub(super) struct Equipment {
    pub(super) plan: Arc<Plan>,
    /// Those of the plan, apart from what is left to a device.
    pub(super) layouts: Arc<[ColumnLayout]>,
    pub(super) decode: Decode,
    pub(super) settled: Settled,
    pub(super) on_error: OnError,
    pub(super) skip_unreadable: bool,
    pub(super) error_limit: u64,
    pub(super) stall: Option<Duration>,
    /// The seed of injected pauses and faults.
    pub(super) chaos: Option<u64>,
    /// What the samples of this loader may take.
    pub(super) budget: Arc<Budget>,
    pub(super) world: World,
    pub(super) pool: Arc<Pool>,
    /// Scratch memory of workers that ended: decoders and buffers outlive the threads.
    pub(super) scratches: Arc<Mutex<Vec<Scratch>>>,
    pub(super) trace: Arc<Trace>,
}

/// What the threads of an engine share.
#[derive(Debug)]
pub(super) struct Shared {
    equipment: Equipment,
    pub(super) feed: Feed,
    /// Ends the waits of stores and decoders when the engine stops.
    pub(super) signals: Arc<Signals>,
    /// The process that owns the threads: after a fork the child does not have them.
    pub(super) process: Process,
    /// What each thread is doing.
    pub(super) activity: Activity,
    /// How far the rows of future batches were announced.
    pub(super) scout: Scout,
    /// The batches in flight, and how the threads sleep and wake each other over them.
    pub(super) sleep: Sleep<State>,
}

impl Deref for Shared {
    type Target = Equipment;

    fn deref(&self) -> &Equipment {
        &self.equipment
    }
}

/// Threads that make batch after batch, across epoch boundaries. Dropping it stops and joins them.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The cursor of the next batch it would give.
    pub(super) at: Cursor,
    /// Whether the last batch ended its epoch.
    pub(super) ended: bool,
}

impl Engine {
    /// Starts the threads. They make at most `limit` batches, from `start` on.
    pub(super) fn start(equipment: Equipment, start: Cursor, feed: Feed, limit: u64) -> Result<Self> {
        let settled = equipment.settled;
        let trace = &equipment.trace;
        let signals = Signals::counting(Arc::clone(&trace.retries), trace.pace.announced());
        let signals = Arc::new(signals.with_threads(settled.threads));
        let activity = Activity::new(settled.io_threads + settled.threads);
        let process = Process::this();
        let scout = Scout::new(&equipment.plan);
        let by_piece = !scout.is_active() && !settled.network && equipment.plan.bulk.is_none();
        let sleep = Sleep::new(State::new(settled, limit, Arc::clone(trace), by_piece));
        let shared = Arc::new(Shared { equipment, feed, signals, activity, scout, process, sleep });
        let mut engine = Engine { shared, threads: vec![], at: start, ended: false };
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
        let (shared, number) = (Arc::clone(&self.shared), self.threads.len());
        let body = move || {
            Activity::enter(number);
            if !shared.plan.runs_user_code() {
                // A thread that holds the GIL of Python must not wait for a core.
                shared.settled.priority.enter();
            }
            let _entered = signals::enter(&shared.signals);
            if catch_unwind(AssertUnwindSafe(|| life(&shared))).is_err() {
                // Samples are guarded one by one, so this is a bug in the engine itself. Stopping is better than
                // hanging.
                let error = Error::Internal { what: "a loader thread panicked".to_owned() };
                let mut state = shared.sleep.lock();
                if state.flights.is_empty() {
                    state.flights.push_back(Flight::failed(error));
                } else if let Some(front) = state.flights.front_mut() {
                    front.done = Some(Err(error));
                }
                state.thread_lost();
            }
        };
        match Builder::new().name(name).spawn(body) {
            Ok(handle) => self.threads.push(handle),
            Err(e) => return Err(Error::io("start a thread for", "the loader", e)),
        }
        Ok(())
    }

    /// Adds batches of row numbers given from outside.
    pub(super) fn give(&self, batches: Vec<Vec<u64>>) {
        let Feed::Given(_, steps) = &self.shared.feed else { return };
        let mut state = self.shared.sleep.lock();
        state.limit += batches.len() as u64;
        steps.hold().extend(batches);
        state.batches_given();
    }

    /// Whether the oldest batch is done, or the engine stopped.
    pub(super) fn is_ready(&self) -> bool {
        self.shared.sleep.lock().is_ready_or_stopped()
    }

    pub(super) fn is_here(&self) -> bool {
        self.shared.process.is_here()
    }

    /// Takes the oldest batch once it is done. Returns `None` when `patience` has passed.
    pub(super) fn take(&mut self, start: Instant, patience: Option<Duration>) -> Result<Option<Flight>> {
        let Some(mut state) = self.shared.sleep.until_ready(start, patience) else { return Ok(None) };
        if !state.is_ready() {
            return Err(Error::argument("the loader was closed while a consumer was waiting for a batch"));
        }
        let flight = state.flights.pop_front();
        state.batch_taken();
        drop(state);
        (self.at, self.ended) = flight.as_ref().map_or((self.at, false), |f| (f.after, f.ends_epoch));
        Ok(flight)
    }
}

impl Drop for Engine {
    /// Stops every thread and joins those that end soon.
    fn drop(&mut self) {
        if !self.is_here() {
            // The threads exist in the parent only; joining them here would block for ever.
            std::mem::take(&mut self.threads).into_iter().for_each(std::mem::forget);
            return;
        }
        self.shared.signals.cancel();
        self.shared.sleep.stop();
        self.shared.scout.end(&self.shared.plan);
        if self.shared.plan.runs_user_code() {
            // Code of the user must not run on when the interpreter ends.
            for thread in std::mem::take(&mut self.threads) {
                let _ = thread.join();
            }
            return;
        }
        // A read that hangs (a server that is gone) cannot be ended. Its thread is left alone after a while: it owns all that
        // it uses, and ends when the read does.
        let start = Instant::now();
        for thread in std::mem::take(&mut self.threads) {
            while !thread.is_finished() && start.elapsed() < JOIN {
                std::thread::sleep(Duration::from_micros(100));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}
