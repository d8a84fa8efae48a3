//! Columns of batches that a device completes.

use crate::{batch::Batch, errors::raise, gate};
use infeed::{Column, Plan};
use infeed_core::{At, Deferred, Hold};
use infeed_cuda::{Asked, Cuda, Decoded, Error, Host, Machine, Places, Renderer, Row, Setup, Target};
use pyo3::{
    exceptions::{PyKeyError, PyMemoryError, PyRuntimeError},
    prelude::*,
};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

/// Rows that a device decoded, that were made before, and that it refused.
type Counts = (usize, usize, usize);

/// A row that could not be made: its index, its number, the reason.
type BadRow = (usize, u64, String);

/// Completes the columns of batches on a device, several at a time.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct DeviceRenderer {
    inner: Mutex<Option<Arc<Renderer>>>,
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

/// A column on its way, in three steps that may each have a thread.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct DeviceWork {
    renderer: Arc<Renderer>,
    batch: infeed::Batch,
    plan: Arc<Plan>,
    name: String,
    step: Mutex<Step>,
    process: u32,
}

#[derive(Debug)]
enum Step {
    Asked(Asked),
    Decoded(Decoded),
    /// A step failed.
    Lost,
}

impl Drop for DeviceWork {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(std::mem::replace(&mut *self.step.hold(), Step::Lost));
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
        Ok(DeviceRenderer { inner: Mutex::new(Some(Arc::new(renderer))), process: std::process::id() })
    }

    /// Begins with a column: asks which of its images the device takes.
    fn ask(&self, py: Python<'_>, batch: &Batch, name: &str) -> PyResult<DeviceWork> {
        let renderer = py.detach(|| self.inner.hold().clone());
        let renderer = renderer.ok_or_else(|| PyRuntimeError::new_err("this loader is closed"))?;
        let asked = py.detach(|| {
            let _inside = gate::enter();
            rows_of(&batch.inner, name).map(|(rows, _)| renderer.ask(&rows))
        });
        let asked = asked.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?.map_err(say)?;
        Ok(DeviceWork {
            renderer,
            batch: batch.inner.clone(),
            plan: Arc::clone(&batch.plan),
            name: name.to_owned(),
            step: Mutex::new(Step::Asked(asked)),
            process: std::process::id(),
        })
    }

    /// What it is, in words.
    fn describe(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.hold().as_ref().map(|renderer| renderer.describe()).unwrap_or_default())
    }

    /// Seconds of the host, by what they were spent on.
    fn seconds(&self, py: Python<'_>) -> Vec<(&'static str, f64)> {
        py.detach(|| self.inner.hold().as_ref().map(|renderer| renderer.seconds()).unwrap_or_default())
    }

    /// Gives its memory back, once nothing uses it any more.
    fn close(&self, py: Python<'_>) {
        if self.process == std::process::id() {
            py.detach(|| drop(self.inner.hold().take()));
        }
    }
}

#[pymethods]
impl DeviceWork {
    /// Decodes the images, and waits for that.
    fn decode(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let _inside = gate::enter();
            let mut step = self.step.hold();
            let Step::Asked(asked) = &*step else { return Ok(()) };
            let (rows, _) = rows_of(&self.batch, &self.name).ok_or_else(lost)?;
            let decoded = self.renderer.decode(&rows, asked);
            *step = Step::Lost;
            *step = Step::Decoded(decoded?);
            Ok(())
        })
        .map_err(say)
    }

    /// Starts drawing the column into memory of the device. Returns the counts, and what rows could not be made: index, row
    /// number, reason. With `strict` the first of these is raised.
    fn draw(
        &self,
        py: Python<'_>,
        address: u64,
        stream: u64,
        strict: bool,
    ) -> PyResult<(Counts, Vec<BadRow>)> {
        let outcome = self.with(py, address, stream, Decoded::draw)?;
        let mut bad = vec![];
        for (place, error) in outcome.bad {
            let error = error.at(located(&self.batch, &self.plan, place, &self.name));
            if strict {
                return Err(raise(error));
            }
            bad.push((place, self.batch.rows[place], error.to_string()));
        }
        Ok(((outcome.device, outcome.made, outcome.refused), bad))
    }

    /// Compares what was drawn with the same drawn by the processor from the same decoded pixels: values, those that differ,
    /// by how many 255ths at most, and the bytes that drawing has to move.
    fn audit(&self, py: Python<'_>, address: u64, stream: u64) -> PyResult<(u64, u64, f64, u64)> {
        let found = self.with(py, address, stream, Decoded::audit)?;
        Ok((found.values, found.different, found.largest, found.bytes))
    }
}

impl DeviceWork {
    /// Calls `work` with what was decoded.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        address: u64,
        stream: u64,
        work: impl Send + FnOnce(&mut Decoded, &[Row<'_>], Target) -> Result<T, Error>,
    ) -> PyResult<T> {
        self.decode(py)?;
        py.detach(|| {
            let _inside = gate::enter();
            let (rows, each) = rows_of(&self.batch, &self.name).ok_or_else(lost)?;
            // SAFETY: the Python package gives the address of an empty tensor of this shape and type that it has just made on
            // that stream, and keeps it until its work is done.
            let target = unsafe { Target::new(address, each, rows.len(), stream) };
            match &mut *self.step.hold() {
                Step::Decoded(decoded) => work(decoded, &rows, target),
                Step::Asked(_) | Step::Lost => Err(lost()),
            }
        })
        .map_err(say)
    }
}

fn lost() -> Error {
    infeed_core::Error::Internal { what: "a batch on its way to a device was lost".to_owned() }.into()
}

/// The rows of a column that a device completes, and the bytes of each.
fn rows_of<'a>(batch: &'a infeed::Batch, name: &str) -> Option<(Vec<Row<'a>>, usize)> {
    let Some(Column::Deferred { dtype, shape, lease, images }) = batch.column(name) else { return None };
    let each = shape[1..].iter().product::<usize>() * dtype.size();
    let made = lease.bytes();
    let row = |(at, image): (usize, &'a Option<Deferred>)| match image {
        Some(image) => Row::Deferred(image),
        None => Row::Made(made.get(at * each..(at + 1) * each).unwrap_or_default()),
    };
    Some((images.iter().enumerate().map(row).collect(), each))
}

/// Where a sample of a batch comes from.
fn located(batch: &infeed::Batch, plan: &Plan, place: usize, field: &str) -> At {
    let row = batch.rows[place];
    let (shard, key) = match &batch.names {
        Some(names) => (names[place].0.to_string(), names[place].1.clone()),
        None => (plan.source.shard_of(row), plan.source.key(row)),
    };
    At { shard, row: Some(row), key: Some(key).filter(|key| !key.is_empty()), field: Some(field.to_owned()) }
}

/// Keeps the names of the crate together.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DeviceRenderer>()?;
    module.add_class::<DeviceWork>()?;
    module.add_function(wrap_pyfunction!(missing_for_device, module)?)?;
    Ok(())
}
