//! A recipe checked against its data.

use crate::{errors::raise, items};
use infeed::{Recipe, engine::Opened, order::Ledger, recipe::SourceRecipe};
use infeed_core::{Kind, Order, OrderExt};
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
    /// `make` is what a recipe means whose format is `python`: a function that makes an iterator.
    #[new]
    #[pyo3(signature = (recipe, make=None))]
    fn new(py: Python<'_>, recipe: &str, make: Option<Py<PyAny>>) -> PyResult<Self> {
        let mut open = |source: &SourceRecipe| match &make {
            Some(make) if source.format == "python" => {
                let make = Python::attach(|py| make.clone_ref(py));
                items::stream(make, &source.paths.join(", ")).map(Opened::Stream)
            }
            _ => infeed::open_source(source),
        };
        // Opening reads every shard's index: other Python threads may go on meanwhile.
        let inner = py.detach(|| infeed::Plan::with(Recipe::from_json(recipe)?, &mut open)).map_err(raise)?;
        Ok(Plan { inner: Arc::new(inner) })
    }

    /// Whether the length of an epoch is not known before it ends.
    #[getter]
    fn is_stream(&self) -> bool {
        self.inner.is_stream()
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.inner.source.rows()
    }

    /// Samples of an epoch.
    #[getter]
    fn places(&self) -> u64 {
        self.inner.order.places()
    }

    /// The rows at these places of an epoch.
    fn order(&self, py: Python<'_>, epoch: u64, start: u64, stop: u64) -> Vec<u64> {
        py.detach(|| self.inner.order.rows(epoch, start..stop))
    }

    /// How well the order mixes: as JSON and in words.
    fn quality(&self, py: Python<'_>, epoch: u64, batch: Option<u64>) -> (String, String) {
        let quality = py.detach(|| self.inner.quality(epoch, batch));
        (serde_json::to_string(&quality).unwrap_or_default(), quality.to_string())
    }

    /// Whether these ledgers prove the epoch (every epoch they know, when none is given), and the verdict in words.
    fn verify(&self, py: Python<'_>, ledgers: Vec<String>, epoch: Option<u64>) -> PyResult<(bool, String)> {
        let verdicts = py.detach(|| {
            let ledgers = ledgers
                .iter()
                .enumerate()
                .map(|(number, text)| Ok(Ledger::from_json(text)?.named(format!("ledger {number}"))))
                .collect::<infeed::Result<Vec<_>>>()?;
            self.inner.verify(&ledgers, epoch)
        });
        let verdicts = verdicts.map_err(raise)?;
        let texts: Vec<String> = verdicts.iter().map(ToString::to_string).collect();
        Ok((verdicts.iter().all(|v| v.is_exact()), texts.join("\n")))
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

    /// Batches of an epoch when this process is alone.
    #[getter]
    fn batches(&self) -> u64 {
        self.inner.batches()
    }

    fn explain(&self) -> String {
        self.inner.explain()
    }
}
