//! Staging files from Python.

use crate::errors::raise;
use infeed::{
    World,
    stage::{Progress, Share, Staged, Staging},
    store::Stores,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::path::PathBuf;

/// Files that were staged. Their folder counts as used for as long as this lives.
#[pyclass(frozen, module = "infeed._core")]
pub(crate) struct StagedFiles(Staged);

#[pymethods]
impl StagedFiles {
    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.place.folder.clone()
    }

    /// Where the folder comes from: `given`, or the variable that named it.
    #[getter]
    fn found_by(&self) -> &str {
        &self.0.place.from
    }

    /// The copies of the files and folders that the sources name.
    #[getter]
    fn roots(&self) -> Vec<PathBuf> {
        self.0.roots.clone()
    }

    /// Files, their bytes, files that were there, files that were missing, bytes that were read from sources.
    #[getter]
    fn counts(&self) -> (u64, u64, u64, u64, u64) {
        let staged = &self.0;
        (staged.files, staged.bytes, staged.kept, staged.progress.files_total, staged.progress.copied)
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.0.took.as_secs_f64()
    }

    /// Removes the copies, unless another process uses them; returns whether it did. With `leaving` this process does not
    /// use them any more either way.
    fn clean_up(&self, py: Python<'_>, leaving: bool) -> PyResult<bool> {
        let removed = py.detach(|| if leaving { self.0.leave() } else { self.0.clean_up() });
        removed.map(|removed| removed.is_some()).map_err(raise)
    }
}

/// Stages files. `watch` gets files, all files, bytes, all bytes, bytes that were read, and files that others copy. The
/// world is rank, size, local rank and local size.
#[pyfunction]
#[pyo3(signature = (sources, folder, verify, share, world, threads, watch))]
#[allow(clippy::too_many_arguments)] // the one caller names them
pub(crate) fn stage(
    py: Python<'_>,
    sources: Vec<String>,
    folder: Option<PathBuf>,
    verify: bool,
    share: Option<&str>,
    world: (u64, u64, u64, u64),
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<StagedFiles> {
    let share = match share {
        None => None,
        Some("node") => Some(Share::Node),
        Some("job") => Some(Share::Job),
        Some(other) => {
            return Err(PyValueError::new_err(format!("share must be \"node\" or \"job\", got {other:?}")));
        }
    };
    let (rank, size, local_rank, local_size) = world;
    let world = World { rank, size, local_rank, local_size, from: "Python".to_owned() };
    let staging = Staging { folder, verify, share, world, threads, ..Staging::new(sources) };
    let mut failed = None;
    let mut look = |progress: &Progress| {
        let seen = Python::attach(|py| {
            // Ctrl-C ends it; what is done stays.
            py.check_signals()?;
            if let Some(watch) = &watch {
                let p = progress;
                watch.call1(py, (p.files, p.files_total, p.bytes, p.bytes_total, p.copied, p.waiting))?;
            }
            Ok::<(), PyErr>(())
        });
        failed = seen.err();
        failed.is_none()
    };
    let staged = py.detach(|| infeed::stage::stage(&Stores::new(), &staging, &mut look));
    match failed {
        Some(error) => Err(error),
        None => Ok(StagedFiles(staged.map_err(raise)?)),
    }
}
