//! The registry tables, the world around this process, and the command line.

use crate::errors::raise;
use infeed::store::{
    Stores,
    conformance::{PutObject, StoreCase, check},
};
use infeed_core::Store;
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{path::PathBuf, sync::Arc};

/// A registry table as JSON: `formats`, `decoders`, `transforms`, `batch_transforms`.
#[pyfunction]
pub(crate) fn entries(kind: &str) -> PyResult<String> {
    infeed::tables::json(kind).map(|table| table.to_string()).map_err(raise)
}

/// Ends this process when the other end of a socket is gone.
#[pyfunction]
pub(crate) fn exit_when_closed(socket: i32) -> PyResult<()> {
    Ok(infeed::watch::exit_when_closed(socket)?)
}

/// The number of CPUs this process may use.
#[pyfunction]
pub(crate) fn usable_cpus() -> usize {
    infeed::engine::usable_cpus()
}

/// How many CPUs of some a loader that feeds a device leaves to the training process.
#[pyfunction]
pub(crate) fn left_for_training(cpus: usize) -> usize {
    infeed::engine::left_for_training(cpus)
}

/// The folder for what infeed keeps between runs, if the environment names one.
#[pyfunction]
pub(crate) fn cache_folder() -> Option<std::path::PathBuf> {
    infeed::format::cache_folder()
}

/// A text without the signatures and passwords of the URLs in it.
#[pyfunction]
pub(crate) fn shown(text: &str) -> String {
    infeed::shown(text).into_owned()
}

/// What was asked of remote stores since the process began, as JSON.
#[pyfunction]
pub(crate) fn remote_stats() -> PyResult<String> {
    serde_json::to_string(&infeed::store::remote_stats()).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Runs the suite of stores over a remote one, for tests. Objects are written through the store, or into the folder that a web
/// server shows; `lists` says whether it has listings. Returns what is wrong.
#[pyfunction]
#[pyo3(signature = (root, options, folder=None, lists=None))]
pub(crate) fn check_store(
    py: Python<'_>,
    root: String,
    options: &str,
    folder: Option<PathBuf>,
    lists: Option<bool>,
) -> PyResult<Vec<String>> {
    let options = serde_json::from_str(options).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(py.detach(move || {
        let store: Arc<dyn Store> = Arc::new(Stores::with(options));
        let lists = lists.unwrap_or(folder.is_none());
        let (writer, prefix) = (Arc::clone(&store), root.clone());
        let put: PutObject = Box::new(move |name, bytes| {
            // If nothing was written, the suite will notice.
            let _ = match &folder {
                None => writer.put(name, bytes.to_vec().into()).is_ok(),
                Some(folder) => {
                    let path = folder.join(name.strip_prefix(&prefix).unwrap_or(name));
                    path.parent().map(std::fs::create_dir_all);
                    std::fs::write(path, bytes).is_ok()
                }
            };
        });
        check("remote", &StoreCase { store, root, put, many: 1_100, lists })
    }))
}

/// Which rank this process is by its environment, as JSON: `world` and `seen`.
#[pyfunction]
pub(crate) fn find_world() -> PyResult<String> {
    let found = infeed::order::world::here().map_err(raise)?;
    serde_json::to_string(&found).map_err(|e| raise(infeed::Error::Internal { what: e.to_string() }))
}

/// A parsed file list, as JSON: a list of corpora (`name`, `weight`, `files`), each file with `prefix`, `weight` and
/// `samples`. `name` is for messages.
#[pyfunction]
#[pyo3(signature = (text, name, samples=None))]
pub(crate) fn token_list(text: &str, name: &str, samples: Option<u64>) -> PyResult<String> {
    let corpora = infeed_tokens::list::plan(text, name, samples).map_err(raise)?;
    serde_json::to_string(&corpora).map_err(|e| raise(infeed::Error::Internal { what: e.to_string() }))
}

/// Runs the command line and returns its exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, args: Vec<String>) -> i32 {
    py.detach(|| infeed_cli::run(args))
}
