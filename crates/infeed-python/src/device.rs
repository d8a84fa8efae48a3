//! Columns of batches that a device completes.

use crate::{batch::Batch, errors::raise, gate};
use infeed::Column;
use infeed_core::{At, Hold};
use infeed_cuda::{Cuda, Error, Host, Machine, Places, Renderer, Row, Setup, Target};
use pyo3::{
    exceptions::{PyKeyError, PyMemoryError, PyRuntimeError},
    prelude::*,
};
use std::{path::PathBuf, sync::Mutex};

/// Rows that a device decoded, that were made before, and that it refused.
type Counts = (usize, usize, usize);

/// Completes the columns of batches on a device. One thread at a time uses it.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct DeviceRenderer {
    inner: Mutex<Option<Renderer>>,
    process: u32,
}

impl Drop for DeviceRenderer {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A context does not survive a fork: its handles mean nothing here.
            std::mem::forget(self.inner.hold().take());
        }
    }
}

fn say(error: Error) -> PyErr {
    match error {
        Error::Image(error) => raise(error),
        Error::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

/// Folders in which libraries are looked for, and the version of CUDA that is used already.
fn places(folders: Vec<PathBuf>, major: Option<u32>) -> Places {
    Places { folders, major }
}

/// What is missing for completing columns on a GPU, in words. Touches no device.
#[pyfunction]
pub(crate) fn missing_for_device(
    py: Python<'_>,
    folders: Vec<PathBuf>,
    major: Option<u32>,
) -> Option<String> {
    py.detach(|| places(folders, major).missing())
}

#[pymethods]
impl DeviceRenderer {
    /// Opens a GPU. Without a number a stand-in: `takes` says whether it takes images, or leaves all of them to `threads`.
    #[new]
    #[pyo3(signature = (device, *, folders=vec![], major=None, slots=3, threads=1, takes=true))]
    fn new(
        py: Python<'_>,
        device: Option<u32>,
        folders: Vec<PathBuf>,
        major: Option<u32>,
        slots: usize,
        threads: usize,
        takes: bool,
    ) -> PyResult<Self> {
        let folder = infeed::format::cache_folder().map(|folder| folder.join("kernels"));
        let machine = py.detach(|| -> Result<Box<dyn Machine>, Error> {
            let _inside = gate::enter();
            Ok(match device {
                Some(device) => {
                    Box::new(Cuda::open(&Setup { device, places: places(folders, major), folder, slots })?)
                }
                None if takes => Box::new(Host::new()),
                None => Box::new(Host::that_takes(|_| false)),
            })
        });
        let renderer = Renderer::new(machine.map_err(say)?, threads);
        Ok(DeviceRenderer { inner: Mutex::new(Some(renderer)), process: std::process::id() })
    }

    /// Starts completing a column in memory of the device. Returns the counts, and what rows could not be made: index, row
    /// number, reason. With `strict` the first of these is raised.
    fn render(
        &self,
        py: Python<'_>,
        batch: &Batch,
        name: &str,
        address: u64,
        stream: u64,
        strict: bool,
    ) -> PyResult<(Counts, Vec<(usize, u64, String)>)> {
        let outcome = py
            .detach(|| {
                let _inside = gate::enter();
                self.with(batch, name, address, stream, |renderer, rows, target| {
                    renderer.render(rows, target)
                })
            })?
            .map_err(say)?;
        let mut bad = vec![];
        for (place, error) in outcome.bad {
            let error = error.at(located(batch, place, name));
            if strict {
                return Err(raise(error));
            }
            bad.push((place, batch.inner.rows[place], error.to_string()));
        }
        Ok(((outcome.device, outcome.made, outcome.refused), bad))
    }

    /// Compares the batch that was completed last with the same drawn by the processor from the same decoded pixels: values,
    /// those that differ, and by how many 255ths at most.
    fn audit(
        &self,
        py: Python<'_>,
        batch: &Batch,
        name: &str,
        address: u64,
        stream: u64,
    ) -> PyResult<(u64, u64, f64)> {
        let found = py
            .detach(|| {
                self.with(batch, name, address, stream, |renderer, rows, target| renderer.audit(rows, target))
            })?
            .map_err(say)?;
        Ok((found.values, found.different, found.largest))
    }

    /// What it is, in words.
    fn describe(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.hold().as_ref().map(Renderer::describe).unwrap_or_default())
    }

    /// Seconds of the host, by what they were spent on.
    fn seconds(&self, py: Python<'_>) -> Vec<(&'static str, f64)> {
        py.detach(|| self.inner.hold().as_ref().map(Renderer::seconds).unwrap_or_default())
    }

    /// Gives its memory back, once nothing uses it any more.
    fn close(&self, py: Python<'_>) {
        if self.process == std::process::id() {
            py.detach(|| drop(self.inner.hold().take()));
        }
    }
}

impl DeviceRenderer {
    /// Calls `work` with the rows of a column. The lock is taken without the GIL.
    fn with<T>(
        &self,
        batch: &Batch,
        name: &str,
        address: u64,
        stream: u64,
        work: impl FnOnce(&mut Renderer, &[Row<'_>], Target) -> T,
    ) -> PyResult<T> {
        let Some(Column::Deferred { dtype, shape, lease, images }) = batch.inner.column(name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        let each = shape[1..].iter().product::<usize>() * dtype.size();
        let made = lease.bytes();
        let rows: Vec<Row<'_>> = images
            .iter()
            .enumerate()
            .map(|(at, image)| match image {
                Some(image) => Row::Deferred(image),
                None => Row::Made(made.get(at * each..(at + 1) * each).unwrap_or_default()),
            })
            .collect();
        // SAFETY: the Python package gives the address of an empty tensor of this shape and type that it has just made on that
        // stream, and keeps it until its work is done.
        let target = unsafe { Target::new(address, each, rows.len(), stream) };
        let mut inner = self.inner.hold();
        let renderer = inner.as_mut().ok_or_else(|| PyRuntimeError::new_err("this loader is closed"))?;
        Ok(work(renderer, &rows, target))
    }
}

/// Where a sample of a batch comes from.
fn located(batch: &Batch, place: usize, field: &str) -> At {
    let row = batch.inner.rows[place];
    let (shard, key) = match &batch.inner.names {
        Some(names) => (names[place].0.to_string(), names[place].1.clone()),
        None => (batch.plan.source.shard_of(row), batch.plan.source.key(row)),
    };
    At { shard, row: Some(row), key: Some(key).filter(|key| !key.is_empty()), field: Some(field.to_owned()) }
}

/// Keeps the names of the crate together.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DeviceRenderer>()?;
    module.add_function(wrap_pyfunction!(missing_for_device, module)?)?;
    Ok(())
}
