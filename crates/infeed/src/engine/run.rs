//! One epoch as the consumer sees it.

use super::{
    activity::Doing,
    checkpoint::Position,
    home::Home,
    process::Process,
    reader::place_of,
    receipt::{Changes, Receipt},
    threads::{Engine, Shared},
};
use crate::{batch::Batch, trace::Trace};
use infeed_core::{Error, Result};
use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// What the consumer gets.
#[derive(Debug)]
pub enum Next {
    /// A batch.
    Batch(Batch),
    /// The epoch is over.
    End,
    /// Nothing yet: the wait timed out.
    Waiting,
}

/// Waits for the next batch of a run without holding the run.
#[derive(Debug)]
pub struct Waiting(Arc<Shared>);

impl Waiting {
    /// Blocks until there is a batch, an error or the end, or `patience` has passed.
    pub fn wait(&self, patience: Duration) {
        let _ = self.0.sleep.until_ready(Instant::now(), Some(patience));
    }
}

/// The error of a consumer that has waited too long: what every thread is doing, with the row it does it to.
fn stalled(shared: &Shared, waited: Duration) -> Error {
    let describe = |(doing, time): (Doing, Duration)| {
        let (what, row) = match doing {
            Doing::Reading(row) => ("reading", Some(row)),
            Doing::Making(row) => ("decoding or transforming", Some(row)),
            Doing::Pulling | Doing::Nothing => ("waiting for the stream", None),
        };
        let place = match row {
            Some(row) if shared.plan.stream.is_none() => format!(" {}", place_of(shared, row, None)),
            Some(row) => format!(" row {row}"),
            None => String::new(),
        };
        format!("{what}{place} for {:.1} s", time.as_secs_f64())
    };
    let mut busy: Vec<String> = shared.activity.busy().into_iter().take(4).map(describe).collect();
    if busy.is_empty() {
        busy.push("no thread is busy".to_owned());
    }
    Error::Stalled { what: format!("no batch came for {:.1} s: {}", waited.as_secs_f64(), busy.join("; ")) }
}

/// One epoch in progress. Dropping it early stops and joins every thread.
#[derive(Debug)]
pub struct Run {
    engine: Option<Engine>,
    home: Arc<Home>,
    at: Position,
    /// Steps until its end; `None` if it ends with the data's epoch.
    left: Option<u64>,
    /// Where the next epoch starts.
    next: Position,
    /// Batches that were taken and that the consumer has not received yet.
    taken: VecDeque<Receipt>,
    /// The position once those are received, if the epoch ends with them.
    ended: Option<Position>,
    /// The number of batches given so far, if the rows come from outside.
    given: Option<u64>,
    trace: Arc<Trace>,
    error_limit: u64,
    process: Process,
    left_at: Instant,
    /// Since when the consumer has waited for the next batch.
    waiting_since: Option<Instant>,
}

impl Run {
    pub(super) fn new(
        engine: Engine,
        at: Position,
        left: Option<u64>,
        next: Position,
        home: Arc<Home>,
    ) -> Self {
        engine.shared.sleep.lock().began = Instant::now();
        Run {
            trace: Arc::clone(&engine.shared.trace),
            error_limit: engine.shared.error_limit,
            engine: Some(engine),
            home,
            at,
            left,
            next,
            taken: VecDeque::new(),
            ended: None,
            given: None,
            process: Process::this(),
            left_at: Instant::now(),
            waiting_since: None,
        }
    }

    /// Creates a run over row numbers given from outside by [`Run::give`].
    pub(super) fn of_given_rows(engine: Engine, home: Arc<Home>) -> Self {
        let at = Position::default();
        Run { given: Some(0), ..Run::new(engine, at, Some(0), at, home) }
    }

    /// Adds batches to a run over given rows. Each entry is one batch.
    pub fn give(&mut self, batches: Vec<Vec<u64>>) -> Result<()> {
        let (Some(given), Some(left), Some(engine)) = (&mut self.given, &mut self.left, &self.engine) else {
            return Err(Error::argument("this run takes its rows from an order, or is closed"));
        };
        let rows = engine.shared.plan.source.rows();
        if let Some(bad) = batches.iter().flatten().find(|row| **row >= rows) {
            return Err(Error::argument(format!("there is no row {bad}: the source has {rows} rows")));
        }
        *given += batches.len() as u64;
        *left += batches.len() as u64;
        engine.give(batches);
        Ok(())
    }

    /// Returns the next batch in order and counts it as received. Waits at most `patience`.
    pub fn next(&mut self, patience: Option<Duration>) -> Result<Next> {
        let start = Instant::now();
        let found = self.take(patience)?;
        self.count_wait(start.elapsed());
        if matches!(found, Next::Batch(_)) {
            self.settle(&Changes::default());
        }
        Ok(found)
    }

    /// Returns a handle to wait with while others use the run; `None` if there is nothing to wait for.
    pub fn waiting(&self) -> Option<Waiting> {
        let engine = self.engine.as_ref().filter(|_| self.left != Some(0) && self.process.is_here())?;
        Some(Waiting(Arc::clone(&engine.shared)))
    }

    /// Whether [`Run::take`] would return without waiting.
    pub fn ready(&self) -> bool {
        self.left == Some(0) || self.engine.as_ref().is_none_or(Engine::is_ready)
    }

    /// Counts the oldest taken batch as received: from now on a checkpoint is past it. `waited` is how long the
    /// consumer waited for it, `changes` is what happened to its samples after it was taken.
    ///
    /// A consumer that works ahead (copying to a device, say) takes early and calls this when the batch is handed
    /// over, so that nothing is lost if the job ends in between.
    pub fn received(&mut self, waited: Duration, changes: Changes) -> Result<()> {
        self.count_wait(waited);
        let epoch = self.settle(&changes);
        changes.bad.iter().try_for_each(|(row, error)| {
            self.trace.bad.record(epoch.unwrap_or(0), *row, error, self.error_limit)
        })
    }

    fn settle(&mut self, changes: &Changes) -> Option<u64> {
        let epoch = self.taken.pop_front().map(|receipt| receipt.settle(&self.home, changes));
        if self.taken.is_empty()
            && let Some(next) = self.ended.take()
        {
            self.home.stand(next);
        }
        epoch
    }

    /// Adds to the consumer's wait time; the rest since the last call counts as time outside the loader.
    fn count_wait(&mut self, waited: Duration) {
        let now = Instant::now();
        let all = now - self.left_at;
        self.left_at = now;
        self.trace.wait_ns.fetch_add(waited.as_nanos() as u64, Relaxed);
        self.trace.consumer_ns.fetch_add(all.saturating_sub(waited).as_nanos() as u64, Relaxed);
    }

    /// Returns the next batch in order without counting it as received. Waits at most `patience`.
    pub fn take(&mut self, patience: Option<Duration>) -> Result<Next> {
        if self.engine.is_some() && !self.process.is_here() {
            return Err(Error::argument(
                "this loader was started before the process forked and its threads stayed behind; start the iteration \
                 anew in the child process",
            ));
        }
        if self.left == Some(0) {
            if self.given.is_none() {
                self.end();
            }
            return Ok(Next::End);
        }
        let Some(engine) = &mut self.engine else { return Ok(Next::End) };
        let flight = match engine.take(Instant::now(), patience) {
            Ok(Some(flight)) => {
                self.waiting_since = None;
                flight
            }
            Ok(None) => {
                let since = *self.waiting_since.get_or_insert_with(Instant::now);
                if engine.shared.stall.is_none_or(|stall| since.elapsed() < stall) {
                    return Ok(Next::Waiting);
                }
                let error = stalled(&engine.shared, since.elapsed());
                self.close();
                return Err(error);
            }
            Err(error) => {
                self.close();
                return Err(error);
            }
        };
        if flight.is_end {
            if self.left.is_none() {
                self.left = Some(0);
            }
            // A consumer that counts steps continues with the next epoch.
            return self.take(patience);
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
            Ok(batch) => Batch { epoch: flight.epoch, ..batch },
            Err(error) => {
                self.close();
                return Err(error);
            }
        };
        if flight.ends_epoch {
            engine.shared.plan.epoch_ended(flight.epoch, &self.trace);
        }
        self.trace.batches.fetch_add(1, Relaxed);
        self.trace.samples.fetch_add(batch.len() as u64, Relaxed);
        self.left = match self.left {
            Some(left) => Some(left - 1),
            None => flight.ends_epoch.then_some(0),
        };
        self.at = Position { lap: self.at.lap, step: self.at.step + 1, cursor: engine.at };
        if self.given.is_none() {
            let shared = &engine.shared;
            self.taken.push_back(Receipt::new(
                self.at,
                &shared.plan,
                &shared.world,
                (flight.epoch, flight.global),
                &batch,
            ));
        }
        Ok(Next::Batch(batch))
    }

    /// Counts the bad samples of a batch. Fails if there are too many; a failed batch keeps its own error.
    fn report(&self, epoch: u64, mut bad: Vec<(u64, Error)>, failed: bool) -> Result<()> {
        let Some(shared) = self.engine.as_ref().map(|e| &e.shared) else { return Ok(()) };
        bad.sort_by_key(|(row, _)| *row);
        let limit = if failed { u64::MAX } else { shared.error_limit };
        bad.iter().try_for_each(|(row, error)| shared.trace.bad.record(epoch, *row, error, limit))
    }

    /// Ends a completed epoch: the engine goes back to the loader.
    fn end(&mut self) {
        if let Some(engine) = self.engine.take() {
            // How far a stream gets in so many steps is known only now.
            let counted = engine.shared.plan.stream.is_some() && self.next.cursor.place > 0;
            let next = if counted { Position { cursor: engine.at, ..self.next } } else { self.next };
            if self.taken.is_empty() {
                self.home.stand(next);
            } else {
                self.ended = Some(next);
            }
            if engine.is_here() && engine.shared.sleep.lock().limit == u64::MAX {
                self.home.keep(engine);
            }
        }
    }

    /// Stops and joins every thread. Waits at most for the sample each worker is processing.
    pub fn close(&mut self) {
        self.engine = None;
    }
}
