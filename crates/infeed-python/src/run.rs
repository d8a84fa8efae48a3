//! One epoch of a loader.

use crate::{batch::Batch, errors::raise, gate};
use infeed::{
    Next,
    engine::{Changes, Waiting},
    reserve,
};
use infeed_core::{Hold, memory};
use pyo3::{exceptions::PyMemoryError, prelude::*};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// How long to wait for a batch before checking for Ctrl-C.
const LOOK_UP: Duration = Duration::from_millis(50);

/// One running epoch.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Run {
    inner: Mutex<Option<infeed::Run>>,
    plan: Arc<infeed::Plan>,
    process: u32,
}

impl Drop for Run {
    /// As for the loader: threads are joined without holding the GIL.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Its threads are those of the parent, and its lock may be held by one of them for ever.
            std::mem::forget(std::mem::take(&mut self.inner));
            return;
        }
        let inner = self.inner.hold().take();
        if inner.is_some() {
            Python::attach(|py| py.detach(|| drop(inner)));
        }
    }
}

impl Run {
    pub(crate) fn new(run: infeed::Run, plan: Arc<infeed::Plan>) -> Self {
        Run { inner: Mutex::new(Some(run)), plan, process: std::process::id() }
    }

    /// Calls `work` with the run, or `None` if it is closed. The lock is taken inside `detach`: outside, two Python
    /// threads could deadlock.
    fn with<T: Send>(&self, py: Python<'_>, work: impl Send + FnOnce(Option<&mut infeed::Run>) -> T) -> T {
        py.detach(|| {
            let _inside = gate::enter();
            work(self.inner.hold().as_mut())
        })
    }

    /// Waits until there is a batch or the end, and checks for Ctrl-C in between.
    fn wait(&self, py: Python<'_>, receive: bool) -> PyResult<Option<Batch>> {
        let start = Instant::now();
        loop {
            // Not after a batch was taken: it would be lost.
            enough_memory()?;
            // The GIL is released once per round: getting it back may take a while when other threads use it.
            match py.detach(|| self.ask(start, receive)).map_err(raise)? {
                Next::Batch(inner) => return Ok(Some(Batch { inner, plan: Arc::clone(&self.plan) })),
                Next::End => return enough_memory().map(|()| None),
                Next::Waiting => py.check_signals()?,
            }
        }
    }

    /// Waits for a while, without holding the lock: other threads may call `received` or close the run.
    fn ask(&self, start: Instant, receive: bool) -> infeed::Result<Next> {
        let now = || -> infeed::Result<(Next, Option<Waiting>)> {
            let _inside = gate::enter();
            let mut inner = self.inner.hold();
            let Some(run) = inner.as_mut() else { return Ok((Next::End, None)) };
            let found = run.take(Some(Duration::ZERO))?;
            if receive && matches!(found, Next::Batch(_)) {
                run.received(start.elapsed(), Changes::default())?;
            }
            let waiting = if matches!(found, Next::Waiting) { run.waiting() } else { None };
            Ok((found, waiting))
        };
        match now()? {
            (Next::Waiting, Some(waiting)) => {
                waiting.wait(LOOK_UP);
                now().map(|(found, _)| found)
            }
            (found, _) => Ok(found),
        }
    }
}

/// Fails once after the system denied memory that was then taken from the reserve.
fn enough_memory() -> PyResult<()> {
    match reserve::shortage() {
        0 => Ok(()),
        bytes => Err(PyMemoryError::new_err(format!(
            "the system had no memory left for {}; rows so far are complete: use a smaller memory=, fewer threads or \
             smaller batches",
            memory::readable(bytes)
        ))),
    }
}

#[pymethods]
impl Run {
    /// The next batch, or None at the end of the epoch; counted as received at once.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.wait(py, true)
    }

    /// The next batch, or None at the end of the epoch; `received` counts it.
    fn take(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.wait(py, false)
    }

    /// Counts the oldest batch that was taken as received: the state of the loader is now after it. `waited` is in
    /// nanoseconds; `filtered` and `bad` are rows that were left out of it since.
    #[pyo3(signature = (waited=0, filtered=vec![], bad=vec![]))]
    fn received(
        &self,
        py: Python<'_>,
        waited: u64,
        filtered: Vec<u64>,
        bad: Vec<(u64, String)>,
    ) -> PyResult<()> {
        let bad = bad.into_iter().map(|(row, what)| (row, infeed::Error::sample(what))).collect();
        let changes = Changes { filtered, bad };
        let waited = Duration::from_nanos(waited);
        self.with(py, |run| run.map_or(Ok(()), |run| run.received(waited, changes))).map_err(raise)
    }

    /// Whether `take` would not have to wait.
    fn ready(&self, py: Python<'_>) -> bool {
        self.with(py, |run| run.is_none_or(|run| run.ready()))
    }

    /// Adds batches to a run over given rows.
    fn give(&self, py: Python<'_>, batches: Vec<Vec<u64>>) -> PyResult<()> {
        let closed = || infeed::Error::argument("this run is closed");
        self.with(py, |run| run.ok_or_else(closed).and_then(|run| run.give(batches))).map_err(raise)
    }

    /// Stops and joins the threads. Harmless when they are stopped already.
    fn close(&self, py: Python<'_>) {
        if self.process == std::process::id() {
            py.detach(|| {
                let run = {
                    let _inside = gate::enter();
                    self.inner.hold().take()
                };
                drop(run);
            });
        }
    }
}
