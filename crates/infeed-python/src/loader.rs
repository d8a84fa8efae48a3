//! Loaders and their epochs.

use crate::{batch::Batch, errors::raise, plan::Plan};
use infeed::{Next, OnError, Options};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How long a wait for a batch goes on before Python looks for Ctrl-C.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Runs a plan epoch after epoch.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Loader {
    inner: Mutex<infeed::Loader>,
}

impl Loader {
    fn lock(&self) -> std::sync::MutexGuard<'_, infeed::Loader> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Loader {
    #[new]
    #[pyo3(signature = (plan, *, threads=None, io_threads=None, prefetch=None, memory=None, on_error="raise", error_limit=1000, epoch=0))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        plan: &Plan,
        threads: Option<usize>,
        io_threads: Option<usize>,
        prefetch: Option<usize>,
        memory: Option<u64>,
        on_error: &str,
        error_limit: u64,
        epoch: u64,
    ) -> PyResult<Self> {
        let on_error = OnError::parse(on_error).map_err(raise)?;
        let options = Options { threads, io_threads, prefetch, memory, on_error, error_limit, epoch };
        let inner = infeed::Loader::new(Arc::clone(&plan.inner), options).map_err(raise)?;
        Ok(Loader { inner: Mutex::new(inner) })
    }

    /// Starts the next epoch.
    fn start(&self) -> PyResult<Run> {
        let mut loader = self.lock();
        let run = loader.start().map_err(raise)?;
        Ok(Run { inner: Mutex::new(Some(run)), plan: Arc::clone(loader.plan()) })
    }

    #[getter]
    fn epoch(&self) -> u64 {
        self.lock().epoch()
    }

    fn set_epoch(&self, epoch: u64) {
        self.lock().set_epoch(epoch);
    }

    /// What the loader has done so far, as JSON.
    fn stats_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.lock().stats()).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    /// What the loader has done so far, in words.
    fn stats_text(&self) -> String {
        self.lock().stats().to_string()
    }
}

/// One epoch in motion.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Run {
    inner: Mutex<Option<infeed::Run>>,
    plan: Arc<infeed::Plan>,
}

#[pymethods]
impl Run {
    /// The next batch, or None at the end of the epoch.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        loop {
            // The lock is taken inside `detach`: taken outside, two Python threads could wait for each other.
            let found = py.detach(|| {
                let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
                match inner.as_mut() {
                    Some(run) => run.next(Some(LOOK_UP)),
                    None => Ok(Next::End),
                }
            });
            match found.map_err(raise)? {
                Next::Batch(inner) => return Ok(Some(Batch { inner, plan: Arc::clone(&self.plan) })),
                Next::End => return Ok(None),
                Next::Waiting => py.check_signals()?,
            }
        }
    }

    /// Stops and joins the threads. Harmless when they are stopped already.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.inner.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}
