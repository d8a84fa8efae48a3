//! One epoch, from the consumer's end.

use super::{checkpoint::Position, home::Home, threads::Engine};
use crate::{batch::Batch, order::Delivery};
use infeed_core::{Error, Result};
use std::{
    sync::{Arc, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

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
