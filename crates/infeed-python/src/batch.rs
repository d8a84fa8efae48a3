//! One batch, field by field.

use crate::{
    array::{Array, Owner},
    gathered::{Arrays, Gathered},
};
use infeed::{Column, Plan, Value};
use pyo3::{
    exceptions::{PyKeyError, PyTypeError},
    prelude::*,
    types::{PyList, PyString},
};
use std::sync::Arc;

/// A batch. Its arrays are created on access and share its memory.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) inner: infeed::Batch,
    pub(crate) plan: Arc<Plan>,
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// An `Array`, or a list with one entry per sample: `Array`, `str`, `None`.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.inner.column(name) {
            Some(Column::Array { dtype, shape, lease }) => {
                let array = Array::new(Owner::Lease(Arc::clone(lease)), *dtype, shape);
                Ok(Bound::new(py, array)?.into_any())
            }
            Some(Column::List(values)) => {
                let list = PyList::empty(py);
                for value in values {
                    list.append(item(py, value)?)?;
                }
                Ok(list.into_any())
            }
            Some(Column::Deferred { .. }) => {
                Err(PyTypeError::new_err(format!("the images of {name:?} are left to a device")))
            }
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// Shape and element type of a column that a device completes.
    fn deferred(&self, name: &str) -> Option<(Vec<usize>, &'static str)> {
        match self.inner.column(name) {
            Some(Column::Deferred { dtype, shape, .. }) => Some((shape.clone(), dtype.name())),
            _ => None,
        }
    }

    /// A column of text or bytes in Arrow's layout: the validity bits (`None` when all values are present), the offsets
    /// as `i32`, and the concatenated values.
    fn gathered(&self, py: Python<'_>, name: &str) -> PyResult<Arrays> {
        let Some(Column::List(values)) = self.inner.column(name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        py.detach(|| Gathered::new(name, values))?.arrays(py)
    }

    /// The epoch of its rows.
    #[getter]
    fn epoch(&self) -> u64 {
        self.inner.epoch
    }

    /// The row of each sample.
    fn rows(&self) -> Vec<u64> {
        self.inner.rows.clone()
    }

    /// How many samples at the end are padding: repeated rows.
    #[getter]
    fn pads(&self) -> usize {
        self.inner.pads
    }

    /// The key of each sample.
    fn keys(&self) -> Vec<String> {
        match &self.inner.names {
            Some(names) => names.iter().map(|(_, key)| key.clone()).collect(),
            None => self.inner.rows.iter().map(|row| self.plan.source.key(*row)).collect(),
        }
    }

    /// The shard of each sample.
    fn shards(&self) -> Vec<String> {
        match &self.inner.names {
            Some(names) => names.iter().map(|(shard, _)| shard.to_string()).collect(),
            None => self.inner.rows.iter().map(|row| self.plan.source.shard_of(*row)).collect(),
        }
    }
}

fn item<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bytes(bytes) => {
            let shape = [bytes.len()];
            Bound::new(py, Array::new(Owner::Bytes(bytes.clone()), infeed::Dtype::U8, &shape))?.into_any()
        }
        Value::Tensor(tensor) => {
            let owner = Owner::Bytes(tensor.data.clone());
            Bound::new(py, Array::new(owner, tensor.dtype, &tensor.shape))?.into_any()
        }
        Value::Text(text) | Value::Json(text) => PyString::new(py, text).into_any(),
        _ => py.None().into_bound(py),
    })
}
