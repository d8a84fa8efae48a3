//! Runs a plan for a while and measures it.

use crate::{fault::Fault, interrupt, progress::Progress};
use infeed::{Loader, Next, Options, Plan, Stats};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The longest sleep of the loop before it checks the clock and Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// The measurements of a run.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) stats: Stats,
    /// Seconds of waiting for the first batch of each epoch. Significant in short epochs, negligible in real ones.
    pub(crate) start_s: f64,
}

impl Measured {
    /// Share of the time spent waiting for the first batch of each epoch.
    pub(crate) fn start_share(&self) -> f64 {
        if self.stats.seconds > 0.0 {
            (self.start_s / self.stats.seconds).min(self.stats.wait_share)
        } else {
            0.0
        }
    }
}

/// Takes batches for `seconds`, epoch after epoch, and at least one batch. With a `step`, each batch is kept that long
/// before the next one is taken, like a training step; the CPUs are idle meanwhile, as when an accelerator computes.
pub(crate) fn measure(
    plan: &Arc<Plan>,
    options: &Options,
    seconds: f64,
    step: Option<Duration>,
    title: &'static str,
) -> Result<Measured, Fault> {
    let mut loader = Loader::new(Arc::clone(plan), options.clone())?;
    let bar = Progress::time(title, seconds);
    let (start, time) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut batches, mut start_s) = (0u64, 0.0);
    loop {
        let before = batches;
        let mut epoch = loader.start()?;
        let began = Instant::now();
        loop {
            interrupt::check()?;
            match epoch.next(Some(PATIENCE))? {
                Next::Batch(batch) => {
                    if batches == before {
                        start_s += began.elapsed().as_secs_f64();
                    }
                    batches += 1;
                    if let Some(step) = step {
                        std::thread::sleep(step);
                    }
                    drop(batch);
                }
                Next::Waiting => {}
                Next::End => break,
            }
            bar.elapsed(start.elapsed().min(time));
            if batches > 0 && start.elapsed() >= time {
                return Ok(Measured { stats: loader.stats(), start_s });
            }
        }
        if batches == before {
            return Err(infeed::Error::plan("batch", "an epoch has no batches: nothing to measure").into());
        }
    }
}
