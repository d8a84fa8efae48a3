//! Loaders and their epochs.

use crate::{batch::Batch, errors::raise, gate, plan::Plan};
use infeed::{
    Checkpoint, Next, OnError, Options, World,
    engine::{Changes, Waiting},
};
use infeed_core::Hold;
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// How long to wait for a batch before checking for Ctrl-C.
const LOOK_UP: Duration = Duration::from_millis(50);

/// How long a fork waits for a thread at work: longer than a large row group takes to decode.
const BEFORE_FORK: Duration = Duration::from_secs(20);

/// Runs a plan epoch after epoch.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Loader {
    inner: Arc<Mutex<infeed::Loader>>,
    process: u32,
}

impl Loader {
    /// Calls `work` with the loader. The locks are taken inside `detach`: outside, two Python threads could deadlock.
    fn with<T: Send>(&self, py: Python<'_>, work: impl Send + FnOnce(&mut infeed::Loader) -> T) -> T {
        py.detach(|| {
            let _inside = gate::enter();
            work(&mut self.inner.hold())
        })
    }
}

impl Drop for Loader {
    /// The GIL must not be held while threads are joined: they may be in the middle of a user's iterator.
    fn drop(&mut self) {
        let inner = Arc::clone(&self.inner);
        if self.process != std::process::id() {
            // Its threads are those of the parent.
            std::mem::forget(inner);
            return;
        }
        Python::attach(|py| {
            py.detach(|| inner.hold().rest());
        });
    }
}

#[pymethods]
impl Loader {
    #[new]
    #[pyo3(signature = (plan, world, *, threads=None, io_threads=None, prefetch=None, memory=None, on_error="raise",
        skip_unreadable=false, error_limit=1000, stall_timeout=None, persistent=true, ledger_rows=false, chaos=None, epoch=0, endless=false, steps_per_epoch=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        plan: &Plan,
        world: (u64, u64, u64, u64),
        threads: Option<usize>,
        io_threads: Option<usize>,
        prefetch: Option<usize>,
        memory: Option<u64>,
        on_error: &str,
        skip_unreadable: bool,
        error_limit: u64,
        stall_timeout: Option<f64>,
        persistent: bool,
        ledger_rows: bool,
        chaos: Option<u64>,
        epoch: u64,
        endless: bool,
        steps_per_epoch: Option<u64>,
    ) -> PyResult<Self> {
        let on_error = OnError::parse(on_error).map_err(raise)?;
        let seconds = |s: f64| {
            let wrong = || {
                PyValueError::new_err(format!("stall_timeout must be a number of seconds above 0, got {s}"))
            };
            Duration::try_from_secs_f64(s).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
        };
        let stall = stall_timeout.map(seconds).transpose()?;
        let (rank, size, local_rank, local_size) = world;
        let world = World { local_rank, local_size, ..World::new(rank, size).map_err(raise)? };
        let options = Options {
            threads,
            io_threads,
            prefetch,
            memory,
            on_error,
            skip_unreadable,
            error_limit,
            stall,
            epoch,
            world,
            endless,
            steps_per_epoch,
            persistent,
            ledger_rows,
            chaos,
        };
        let inner = infeed::Loader::new(Arc::clone(&plan.inner), options).map_err(raise)?;
        Ok(Loader { inner: Arc::new(Mutex::new(inner)), process: std::process::id() })
    }

    /// Starts the next epoch.
    fn start(&self, py: Python<'_>) -> PyResult<Run> {
        // Threads of a run at another position may have to be stopped first.
        let start = |loader: &mut infeed::Loader| loader.start().map(|run| (run, Arc::clone(loader.plan())));
        let (run, plan) = self.with(py, start).map_err(raise)?;
        Ok(Run::new(run, plan))
    }

    /// Starts a run over rows that are given to it.
    fn start_given(&self, py: Python<'_>, epoch: u64) -> PyResult<Run> {
        let start = |loader: &mut infeed::Loader| {
            loader.start_given(epoch).map(|run| (run, Arc::clone(loader.plan())))
        };
        let (run, plan) = self.with(py, start).map_err(raise)?;
        Ok(Run::new(run, plan))
    }

    #[getter]
    fn epoch(&self, py: Python<'_>) -> u64 {
        self.with(py, |loader| loader.epoch())
    }

    fn set_epoch(&self, py: Python<'_>, epoch: u64) {
        self.with(py, |loader| loader.set_epoch(epoch));
    }

    /// Steps of an epoch, if its length is known.
    #[getter]
    fn steps(&self, py: Python<'_>) -> Option<u64> {
        self.with(py, |loader| loader.steps())
    }

    /// The position of the consumer, as JSON.
    fn state(&self, py: Python<'_>) -> String {
        self.with(py, |loader| loader.checkpoint().to_json())
    }

    /// Resumes from a state.
    fn load_state(&self, py: Python<'_>, state: &str, strict: bool) -> PyResult<()> {
        let checkpoint = Checkpoint::from_json(state).map_err(raise)?;
        self.with(py, |loader| loader.restore(&checkpoint, strict)).map_err(raise)
    }

    /// What was handed out, as JSON.
    fn ledger(&self, py: Python<'_>) -> String {
        self.with(py, |loader| loader.ledger().to_json())
    }

    /// Pauses the threads at a point where they hold no lock, because Python is about to fork.
    fn pause(&self, py: Python<'_>) {
        py.detach(|| {
            if !self.inner.hold().pause(BEFORE_FORK) {
                gate::leave_busy();
            }
        });
    }

    /// Resumes the threads.
    fn go_on(&self, py: Python<'_>) {
        py.detach(|| self.inner.hold().go_on());
    }

    /// Stops the threads that wait for the next epoch.
    fn rest(&self, py: Python<'_>) {
        self.with(py, |loader| loader.rest());
    }

    /// The statistics of the loader, as JSON.
    fn stats_json(&self, py: Python<'_>) -> PyResult<String> {
        let stats = self.with(py, |loader| loader.stats());
        serde_json::to_string(&stats).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    /// The statistics of the loader, as text.
    fn stats_text(&self, py: Python<'_>) -> String {
        self.with(py, |loader| loader.stats()).to_string()
    }
}

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
    fn new(run: infeed::Run, plan: Arc<infeed::Plan>) -> Self {
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
            // The GIL is released once per round: getting it back may take a while when other threads use it.
            match py.detach(|| self.ask(start, receive)).map_err(raise)? {
                Next::Batch(inner) => return Ok(Some(Batch { inner, plan: Arc::clone(&self.plan) })),
                Next::End => return Ok(None),
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
            Ok((found, run.waiting()))
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
