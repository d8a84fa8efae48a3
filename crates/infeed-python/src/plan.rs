//! A recipe checked against its data.

use crate::{errors::raise, given};
use infeed::{batch::ColumnLayout, order::Ledger};
use infeed_core::{Dim, FieldKind, Order, OrderExt};
use pyo3::{prelude::*, types::PyDict};
use std::{collections::HashMap, sync::Arc};

/// A plan: a pipeline that was checked against its data.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) inner: Arc<infeed::Plan>,
}

#[pymethods]
impl Plan {
    /// `given` holds what a recipe cannot: iterators and arrays, by the name that the recipe uses for them.
    #[new]
    #[pyo3(signature = (recipe, given=None))]
    fn new(py: Python<'_>, recipe: &str, given: Option<Py<PyDict>>) -> PyResult<Self> {
        Ok(Plan { inner: Arc::new(given::plan(py, recipe, given.as_ref())?) })
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

    /// How well the order shuffles: as JSON and as text.
    fn quality(&self, py: Python<'_>, epoch: u64, batch: Option<u64>) -> (String, String) {
        let quality = py.detach(|| self.inner.quality(epoch, batch));
        (serde_json::to_string(&quality).unwrap_or_default(), quality.to_string())
    }

    /// Whether these ledgers prove the epoch (every epoch they contain, when none is given), and the verdict as text.
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

    /// The first shard's name and the rows of each source the recipe reads, in their order.
    #[getter]
    fn leaves(&self) -> Vec<(String, u64)> {
        self.inner.leaves.clone()
    }

    /// The seed of random transforms.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// The shape of one entry of each column of a batch, with None where it varies: of a sample, unless samples lie end to
    /// end.
    #[getter]
    fn shapes(&self) -> Vec<Vec<Option<usize>>> {
        let number = |dim: &Dim| if let Dim::Fixed(n) = dim { Some(*n) } else { None };
        let columns = self.inner.batch_columns();
        columns.iter().map(|(_, f, _)| f.shape.iter().map(number).collect()).collect()
    }

    /// How each column of a batch is laid out: `stack`, `pad`, `flat`, `list`, or as the `mask` or `offsets` of another.
    #[getter]
    fn layouts(&self) -> Vec<&'static str> {
        self.inner.batch_columns().iter().map(|(_, _, layout)| *layout).collect()
    }

    /// Fields that are laid end to end after Python functions.
    #[getter]
    fn flat_in_python(&self) -> Vec<String> {
        let flat = |layout: &ColumnLayout| matches!(layout, ColumnLayout::Flat { .. });
        let laid = self.inner.laid_in_python.iter().filter(|(_, layout)| flat(layout));
        laid.map(|(name, _)| name.to_string()).collect()
    }

    /// Fields that are padded after Python functions: the value that pads each, and its mask, by name and whether that has
    /// all axes.
    #[getter]
    fn padded_in_python(&self) -> HashMap<String, (f64, Option<(String, bool)>)> {
        let padded = |(name, layout): &(Arc<str>, ColumnLayout)| match layout {
            ColumnLayout::Pad { padding, mask, .. } => {
                let mask = mask.as_ref().map(|mask| (mask.name.to_string(), mask.shape.len() > 1));
                Some((name.to_string(), (padding.value, mask)))
            }
            _ => None,
        };
        self.inner.laid_in_python.iter().filter_map(padded).collect()
    }

    /// Name, kind and element type of every column of a batch.
    #[getter]
    fn fields(&self) -> Vec<(String, &'static str, &'static str)> {
        let kind = |k: FieldKind| match k {
            FieldKind::Encoded => "bytes",
            FieldKind::Text => "text",
            FieldKind::Json => "json",
            FieldKind::Array => "array",
            FieldKind::Image(_) => "image",
            FieldKind::Mask => "mask",
            FieldKind::Masks => "masks",
            FieldKind::Boxes => "boxes",
            FieldKind::Points => "keypoints",
        };
        let columns = self.inner.batch_columns();
        columns.iter().map(|(n, f, _)| (n.to_string(), kind(f.kind), f.dtype.name())).collect()
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
        infeed::shown(&self.inner.explain()).into_owned()
    }
}
