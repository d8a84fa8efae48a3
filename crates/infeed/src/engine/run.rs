//! One epoch in motion: the threads, and the consumer's end.

use super::{
    OnError, Plan,
    options::Settled,
    reader::read_pieces,
    state::{Flight, State},
    worker::make_samples,
};
use crate::{
    batch::{Batch, Pool},
    trace::Trace,
};
use infeed_core::{Error, Result, Scratch};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// What the threads of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Arc<Plan>,
    pub(super) epoch: u64,
    pub(super) settled: Settled,
    pub(super) on_error: OnError,
    pub(super) error_limit: u64,
    pub(super) pool: Arc<Pool>,
    /// Scratch of workers that ended: decoders and buffers outlive the epoch, threads do not.
    pub(super) scratches: Arc<Mutex<Vec<Scratch>>>,
    pub(super) trace: Arc<Trace>,
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

/// One epoch in motion. Dropping it stops and joins every thread.
#[derive(Debug)]
pub struct Run {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The process the threads live in: after a fork they are not there.
    process: u32,
    over: bool,
    left_at: Instant,
}

impl Run {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn start(
        plan: Arc<Plan>,
        epoch: u64,
        first: u64,
        settled: Settled,
        on_error: OnError,
        error_limit: u64,
        pool: Arc<Pool>,
        scratches: Arc<Mutex<Vec<Scratch>>>,
        trace: Arc<Trace>,
    ) -> Result<Self> {
        let batches = plan.batches(epoch);
        let shared = Arc::new(Shared {
            plan,
            epoch,
            settled,
            on_error,
            error_limit,
            pool,
            scratches,
            trace,
            state: Mutex::new(State::new(settled, first, batches)),
            more_to_read: Condvar::new(),
            more_to_do: Condvar::new(),
            batch_done: Condvar::new(),
        });
        let now = Instant::now();
        let mut run = Run { shared, threads: vec![], process: std::process::id(), over: false, left_at: now };
        for i in 0..settled.io_threads {
            run.spawn(format!("infeed-io-{i}"), read_pieces)?;
        }
        for i in 0..settled.threads {
            run.spawn(format!("infeed-cpu-{i}"), make_samples)?;
        }
        Ok(run)
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

    /// The next batch, in order. Waits at most `patience`.
    pub fn next(&mut self, patience: Option<Duration>) -> Result<Next> {
        if self.over {
            return Ok(Next::End);
        }
        if self.process != std::process::id() {
            return Err(Error::argument(
                "this loader was started before the process forked and its threads stayed behind; start the iteration \
                 anew in the child process",
            ));
        }
        let start = Instant::now();
        let trace = Arc::clone(&self.shared.trace);
        trace.consumer_ns.fetch_add((start - self.left_at).as_nanos() as u64, Relaxed);
        let found = self.take(start, patience);
        self.left_at = Instant::now();
        trace.wait_ns.fetch_add((self.left_at - start).as_nanos() as u64, Relaxed);
        match &found {
            Ok(Next::Batch(batch)) => {
                trace.batches.fetch_add(1, Relaxed);
                trace.samples.fetch_add(batch.len() as u64, Relaxed);
            }
            Ok(Next::Waiting) => {}
            Ok(Next::End) | Err(_) => self.close(),
        }
        found
    }

    fn take(&self, start: Instant, patience: Option<Duration>) -> Result<Next> {
        let shared = &self.shared;
        let mut state = shared.lock();
        loop {
            if state.stop || (state.flights.is_empty() && state.next >= state.batches) {
                return Ok(Next::End);
            }
            if let Some(done) = state.flights.front_mut().and_then(|f| f.done.take()) {
                state.flights.pop_front();
                shared.wake_reader(&state);
                if !state.well_ahead() {
                    shared.wake_worker(&state);
                }
                return done.map(Next::Batch);
            }
            state = match patience {
                None => shared.wait(&shared.batch_done, state),
                Some(patience) => {
                    let left = patience.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        return Ok(Next::Waiting);
                    }
                    shared.batch_done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Stops and joins every thread. Waits at most for the sample each worker is at.
    pub fn close(&mut self) {
        self.over = true;
        if self.process != std::process::id() {
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

impl Drop for Run {
    fn drop(&mut self) {
        self.close();
    }
}
