//! A recipe checked against its data.

use crate::errors::raise;
use infeed::Recipe;
use infeed_core::Kind;
use pyo3::prelude::*;
use std::sync::Arc;

/// A pipeline that is known to fit its data.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) inner: Arc<infeed::Plan>,
}

#[pymethods]
impl Plan {
    #[new]
    fn new(py: Python<'_>, recipe: &str) -> PyResult<Self> {
        // Opening reads every shard's index: other Python threads may go on meanwhile.
        let inner = py.detach(|| infeed::open(Recipe::from_json(recipe)?)).map_err(raise)?;
        Ok(Plan { inner })
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.inner.source.rows()
    }

    #[getter]
    fn batch_size(&self) -> usize {
        self.inner.batch_size
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.inner.source.classes().to_vec()
    }

    #[getter]
    fn tuple(&self) -> Option<Vec<String>> {
        self.inner.tuple.clone()
    }

    /// Name, kind and element type of every field of a sample.
    #[getter]
    fn fields(&self) -> Vec<(String, &'static str, &'static str)> {
        let kind = |k: Kind| match k {
            Kind::Encoded => "bytes",
            Kind::Text => "text",
            Kind::Json => "json",
            Kind::Array => "array",
            Kind::Image(_) => "image",
        };
        self.inner.spec.fields.iter().map(|(n, f)| (n.to_string(), kind(f.kind), f.dtype.name())).collect()
    }

    #[getter]
    fn hash(&self) -> u64 {
        self.inner.recipe.hash()
    }

    fn batches(&self, epoch: u64) -> u64 {
        self.inner.batches(epoch)
    }

    fn explain(&self) -> String {
        self.inner.explain()
    }
}
