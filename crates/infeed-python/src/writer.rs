//! The shard writer.

use crate::errors::raise;
use infeed::{
    format::{IndexCache, TarFormat},
    store::LocalStore,
    write::{ShardOptions, ShardWriter as Inner},
};
use infeed_core::{Hold, StoreExt};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::sync::{Mutex, MutexGuard};

/// Writes samples into tar shards.
#[pyclass(frozen, module = "infeed._core")]
pub(crate) struct ShardWriter {
    inner: Mutex<Option<Inner>>,
}

impl ShardWriter {
    fn lock(&self) -> MutexGuard<'_, Option<Inner>> {
        self.inner.hold()
    }
}

#[pymethods]
impl ShardWriter {
    #[new]
    #[pyo3(signature = (pattern, *, maxcount=100_000, maxsize=3_000_000_000, start=0, mtime=0, index=false))]
    fn new(
        pattern: String,
        maxcount: u64,
        maxsize: u64,
        start: u64,
        mtime: u64,
        index: bool,
    ) -> PyResult<Self> {
        let options = ShardOptions { maxcount, maxsize, start, mtime, ..ShardOptions::new(pattern) };
        let mut inner = Inner::new(options).map_err(raise)?;
        if index {
            inner = inner.after_each(|written| {
                let store = LocalStore::new();
                let format = TarFormat { cache: IndexCache::Beside, ..TarFormat::default() };
                format.read_index(&store, &store.stat_one(&written.name)?).map(drop)
            });
        }
        Ok(ShardWriter { inner: Mutex::new(Some(inner)) })
    }

    fn write(&self, py: Python<'_>, key: &str, fields: Vec<(String, Vec<u8>)>) -> PyResult<()> {
        py.detach(|| {
            let mut inner = self.lock();
            let Some(writer) = inner.as_mut() else {
                return Err(PyValueError::new_err("the writer is closed"));
            };
            let fields: Vec<(&str, &[u8])> = fields.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
            writer.write(key, &fields).map_err(raise)
        })
    }

    /// Finishes the last shard; returns the paths of all. Closing twice is harmless.
    fn close(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| match self.lock().take() {
            Some(writer) => Ok(writer.finish().map_err(raise)?.into_iter().map(|w| w.name).collect()),
            None => Ok(vec![]),
        })
    }

    /// Discards the current shard.
    fn abandon(&self) {
        drop(self.lock().take());
    }
}
