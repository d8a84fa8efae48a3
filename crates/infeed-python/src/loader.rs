//! Loaders.

use crate::{errors::raise, gate, plan::Plan, run::Run};
use infeed::{Checkpoint, OnError, Options, Priority, World, engine::Decode};
use infeed_core::Hold;
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

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
    #[pyo3(signature = (plan, world, *, threads=None, priority=None, feeds_device=false, decode="cpu", share=None, io_threads=None, prefetch=None, memory=None, on_error="raise",
        skip_unreadable=false, error_limit=1000, stall_timeout=None, persistent=true, ledger_rows=false, chaos=None, epoch=0, endless=false, steps_per_epoch=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        plan: &Plan,
        world: (u64, u64, u64, u64),
        threads: Option<usize>,
        priority: Option<&str>,
        feeds_device: bool,
        decode: &str,
        share: Option<f64>,
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
        let priority = priority.map(Priority::parse).transpose().map_err(raise)?;
        let options = Options {
            threads,
            priority,
            feeds_device,
            decode: Decode::parse(decode, share).map_err(raise)?,
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

    /// The fields whose images are left to a device.
    fn deferred(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |loader| loader.deferred().iter().map(ToString::to_string).collect())
    }

    /// The share of the rows that threads decode beside a device, if it is fixed.
    #[getter]
    fn share(&self, py: Python<'_>) -> Option<f64> {
        self.with(py, |loader| loader.share())
    }

    /// The most bytes that one array of a batch may have.
    #[getter]
    fn batch_bytes(&self, py: Python<'_>) -> u64 {
        self.with(py, |loader| loader.batch_bytes())
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
        let text = serde_json::to_string(&stats).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        Ok(infeed::shown(&text).into_owned())
    }

    /// The threads of the loader in words.
    fn explain_threads(&self, py: Python<'_>) -> String {
        self.with(py, |loader| loader.explain_threads())
    }

    /// The statistics of the loader, as text.
    fn stats_text(&self, py: Python<'_>) -> String {
        infeed::shown(&self.with(py, |loader| loader.stats()).to_string()).into_owned()
    }
}
