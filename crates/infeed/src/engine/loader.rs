//! A plan that is run epoch after epoch.

use super::{Options, Plan, Run, options::Settled};
use crate::{
    batch::Pool,
    trace::{Stats, Trace},
};
use infeed_core::{Result, Scratch};
use std::sync::{Arc, Mutex};

/// Gives batches, epoch after epoch. Memory and counters live as long as the loader; threads only while an epoch runs.
#[derive(Debug)]
pub struct Loader {
    plan: Arc<Plan>,
    options: Options,
    settled: Settled,
    pool: Arc<Pool>,
    scratches: Arc<Mutex<Vec<Scratch>>>,
    trace: Arc<Trace>,
    epoch: u64,
}

impl Loader {
    /// Settles the options.
    pub fn new(plan: Arc<Plan>, options: Options) -> Result<Self> {
        let settled = options.settle(plan.batch_size, plan.batch_bytes())?;
        // What is in the making, what the consumer holds and the one it is about to take, for every field.
        let pool = Pool::new((settled.prefetch + 2) * plan.fields.len().max(1));
        let epoch = options.epoch;
        Ok(Loader { plan, options, settled, pool, scratches: Arc::default(), trace: Arc::default(), epoch })
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The epoch that the next [`Loader::start`] runs.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Chooses the epoch that the next [`Loader::start`] runs.
    pub fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// Starts an epoch and moves on to the next.
    pub fn start(&mut self) -> Result<Run> {
        let epoch = self.epoch;
        self.epoch += 1;
        Run::start(
            Arc::clone(&self.plan),
            epoch,
            0,
            self.settled,
            self.options.on_error,
            self.options.error_limit,
            Arc::clone(&self.pool),
            Arc::clone(&self.scratches),
            Arc::clone(&self.trace),
        )
    }

    /// What the loader has done so far.
    pub fn stats(&self) -> Stats {
        Stats::of(&self.trace, self.settled.threads, self.settled.io_threads, self.plan.source.damage())
    }
}
