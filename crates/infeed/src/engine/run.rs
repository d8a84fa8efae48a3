//! The threads, and the consumer's end.

use super::{
    OnError, Options, Plan,
    checkpoint::Position,
    feed::Feed,
    options::Settled,
    reader::read_pieces,
    state::{Flight, State},
    worker::make_samples,
};
use crate::{
    batch::{Batch, Pool},
    order::{Delivery, Ledger, World},
    trace::Trace,
};
use infeed_core::{Cursor, Error, Result, Scratch};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
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
    world: World,
    state: Mutex<State>,
    /// For I/O threads: there may be something to read or to plan.
    pub(super) more_to_read: Condvar,
    /// For workers: a piece was read.
    pub(super) more_to_do: Condvar,
    /// For the consumer: a batch is done.
    pub(super) batch_done: Condvar,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'a>(&self, on: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        on.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a worker if one sleeps and there is something to do. Each that wakes looks for the next to wake.
    pub(super) fn wake_worker(&self, state: &State) {
        if state.idle_workers > 0 && state.has_work() {
            self.more_to_do.notify_one();
        }
    }

    /// Wakes an I/O thread if one sleeps and reads are slow.
    pub(super) fn wake_reader(&self, state: &State) {
        if state.idle_readers > 0 && self.trace.pace.is_slow() {
            self.more_to_read.notify_one();
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
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The process the threads live in: after a fork they are not there.
    process: u32,
    /// The cursor of the next batch it would give.
    at: Cursor,
    /// Whether the last batch ended its epoch.
    ended: bool,
}

impl Engine {
    /// Starts the threads. They make at most `limit` batches.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn start(
        plan: Arc<Plan>,
        start: Cursor,
        limit: u64,
        settled: Settled,
        options: &Options,
        pool: Arc<Pool>,
        scratches: Arc<Mutex<Vec<Scratch>>>,
        trace: Arc<Trace>,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            feed: Feed::new(&plan, &options.world, start),
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
        });
        let mut engine =
            Engine { shared, threads: vec![], process: std::process::id(), at: start, ended: false };
        if limit > 0 {
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

    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// The oldest batch, when it is done. `None` when `patience` is over.
    fn take(&mut self, start: Instant, patience: Option<Duration>) -> Result<Option<Flight>> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        loop {
            if state.flights.front().is_some_and(|f| f.done.is_some()) {
                let flight = state.flights.pop_front();
                (self.at, self.ended) = flight.as_ref().map_or((self.at, false), |f| (f.after, f.ends_epoch));
                shared.wake_reader(&state);
                if !state.well_ahead() {
                    shared.wake_worker(&state);
                }
                return Ok(flight);
            }
            if state.stop {
                return Err(Error::argument("the loader was closed while somebody waited for a batch"));
            }
            state = match patience {
                None => shared.wait(&shared.batch_done, state),
                Some(patience) => {
                    let left = patience.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    shared.batch_done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
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

/// What outlives an epoch: where the consumer stands, its ledger, and the threads while nobody iterates.
#[derive(Debug)]
pub(super) struct Home {
    position: Mutex<Position>,
    pub(super) ledger: Mutex<Ledger>,
    engine: Mutex<(bool, Option<Engine>)>,
}

impl Home {
    pub(super) fn new(ledger: Ledger) -> Self {
        Home { position: Mutex::default(), ledger: Mutex::new(ledger), engine: Mutex::new((true, None)) }
    }

    pub(super) fn stand(&self, at: Position) {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    pub(super) fn position(&self) -> Position {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn engine(&self) -> MutexGuard<'_, (bool, Option<Engine>)> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The resting engine, if it goes on exactly here.
    pub(super) fn take(&self, at: Cursor) -> Option<Engine> {
        let found = self.engine().1.take()?;
        // The end of an epoch and the start of the next are the same place.
        let next = found.ended && at == Cursor { epoch: found.at.epoch + 1, place: 0 };
        (found.is_here() && (found.at == at || next)).then_some(found)
    }

    /// Lets an engine rest here.
    fn keep(&self, engine: Engine) {
        let mut here = self.engine();
        let old = if here.0 { here.1.replace(engine) } else { Some(engine) };
        // Joined without the lock.
        drop(here);
        drop(old);
    }

    pub(super) fn is_warm(&self) -> bool {
        self.engine().1.is_some()
    }

    /// Sends a resting engine away.
    pub(super) fn clear(&self) {
        let old = self.engine().1.take();
        drop(old);
    }

    /// No engine may rest here any more.
    pub(super) fn leave(&self) {
        self.engine().0 = false;
        self.clear();
    }
}

/// What the consumer finds.
#[derive(Debug)]
pub enum Next {
    /// A batch.
    Batch(Batch),
    /// The epoch is over.
    End,
    /// Nothing yet: the time given is over.
    Waiting,
}

/// One epoch in motion. Dropping it in the middle stops and joins every thread.
#[derive(Debug)]
pub struct Run {
    engine: Option<Engine>,
    home: Arc<Home>,
    at: Position,
    /// Steps until its end; `None` when it ends with the data's epoch.
    left: Option<u64>,
    /// Where the next epoch starts.
    next: Position,
    process: u32,
    left_at: Instant,
}

impl Run {
    pub(super) fn new(
        engine: Engine,
        at: Position,
        left: Option<u64>,
        next: Position,
        home: Arc<Home>,
    ) -> Self {
        engine.shared.lock().began = Instant::now();
        Run {
            engine: Some(engine),
            home,
            at,
            left,
            next,
            process: std::process::id(),
            left_at: Instant::now(),
        }
    }

    /// The next batch, in order. Waits at most `patience`.
    pub fn next(&mut self, patience: Option<Duration>) -> Result<Next> {
        if self.engine.is_some() && self.process != std::process::id() {
            return Err(Error::argument(
                "this loader was started before the process forked and its threads stayed behind; start the iteration \
                 anew in the child process",
            ));
        }
        if self.left == Some(0) {
            self.end();
            return Ok(Next::End);
        }
        let Some(engine) = &mut self.engine else { return Ok(Next::End) };
        let start = Instant::now();
        let trace = Arc::clone(&engine.shared.trace);
        trace.consumer_ns.fetch_add((start - self.left_at).as_nanos() as u64, Relaxed);
        let found = engine.take(start, patience);
        self.left_at = Instant::now();
        trace.wait_ns.fetch_add((self.left_at - start).as_nanos() as u64, Relaxed);
        let flight = match found {
            Ok(Some(flight)) => flight,
            Ok(None) => return Ok(Next::Waiting),
            Err(error) => {
                self.close();
                return Err(error);
            }
        };
        if flight.is_end {
            if self.left.is_none() {
                self.left = Some(0);
            }
            // A consumer that counts steps goes on with the next epoch.
            return self.next(patience);
        }
        let failed = flight.done.as_ref().is_some_and(Result::is_err);
        if let Err(error) = self.report(flight.epoch, flight.bad, failed) {
            self.close();
            return Err(error);
        }
        let Some(engine) = &self.engine else { return Ok(Next::End) };
        let batch = match flight
            .done
            .unwrap_or_else(|| Err(Error::Internal { what: "an empty flight".to_owned() }))
        {
            Ok(batch) => batch,
            Err(error) => {
                self.close();
                return Err(error);
            }
        };
        trace.batches.fetch_add(1, Relaxed);
        trace.samples.fetch_add(batch.len() as u64, Relaxed);
        self.left = match self.left {
            Some(left) => Some(left - 1),
            None => flight.ends_epoch.then_some(0),
        };
        self.at = Position { lap: self.at.lap, step: self.at.step + 1, cursor: engine.at };
        self.home.stand(self.at);
        let (plan, world) = (&engine.shared.plan, &engine.shared.world);
        self.home.ledger.lock().unwrap_or_else(PoisonError::into_inner).count(&Delivery {
            epoch: flight.epoch,
            from: flight.global.start,
            to: flight.global.end,
            global: plan.batch.global(world.size),
            last: plan.last,
            rank: world.rank,
            size: world.size,
            rows: &batch.rows,
            pads: batch.pads,
            stand_ins: &batch.stand_ins(),
            left_out: &batch.left_out,
        });
        Ok(Next::Batch(batch))
    }

    /// Counts the bad samples of a batch. An error when there are too many; a batch that failed has its own error.
    fn report(&self, epoch: u64, mut bad: Vec<(u64, Error)>, failed: bool) -> Result<()> {
        let Some(shared) = self.engine.as_ref().map(|e| &e.shared) else { return Ok(()) };
        bad.sort_by_key(|(row, _)| *row);
        let limit = if failed { u64::MAX } else { shared.error_limit };
        bad.iter().try_for_each(|(row, error)| shared.trace.bad.record(epoch, *row, error, limit))
    }

    /// The epoch went to its end: the threads wait for the next one.
    fn end(&mut self) {
        if let Some(engine) = self.engine.take() {
            // How far a stream goes in so many steps is known only now.
            let counted = engine.shared.plan.stream.is_some() && self.next.cursor.place > 0;
            self.home.stand(if counted { Position { cursor: engine.at, ..self.next } } else { self.next });
            if engine.is_here() && engine.shared.lock().limit == u64::MAX {
                self.home.keep(engine);
            }
        }
    }

    /// Stops and joins every thread. Waits at most for the sample each worker is at.
    pub fn close(&mut self) {
        self.engine = None;
    }
}
