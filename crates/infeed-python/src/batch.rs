//! One batch, field by field.

use crate::array::{Array, Owner};
use infeed::{Column, Plan, Value};
use pyo3::{
    exceptions::{PyKeyError, PyOverflowError, PyTypeError},
    prelude::*,
    types::{PyList, PyString},
};
use std::sync::Arc;

/// A batch. Its arrays are made when they are asked for and share its memory.
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
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// A list of texts or bytes as Arrow lays them out: the bits of those that are there (`None` when all are), the ends as
    /// `i32` with a zero before them, and everything they say in a row.
    fn gathered(&self, py: Python<'_>, name: &str) -> PyResult<(Option<Py<Array>>, Py<Array>, Py<Array>)> {
        let Some(Column::List(values)) = self.inner.column(name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        let (bits, ends, said) = py.detach(|| gather(name, values))?;
        let array = |bytes: Vec<u8>, dtype: infeed::Dtype| {
            let shape = [bytes.len() / dtype.size()];
            Py::new(py, Array::new(Owner::Bytes(bytes.into()), dtype, &shape))
        };
        let bits = bits.map(|bits| array(bits, infeed::Dtype::U8)).transpose()?;
        Ok((bits, array(ends, infeed::Dtype::I32)?, array(said, infeed::Dtype::U8)?))
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

    /// How many samples, at the end, are there a second time.
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

/// Bits of those that are there, ends, and all of them in a row.
fn gather(name: &str, values: &[Value]) -> PyResult<(Option<Vec<u8>>, Vec<u8>, Vec<u8>)> {
    let mut ends = Vec::with_capacity(4 * (values.len() + 1));
    ends.extend_from_slice(&0i32.to_ne_bytes());
    let (mut all, mut missing) = (0usize, false);
    for value in values {
        let found = said_by(name, value)?;
        missing |= found.is_none();
        all += found.map_or(0, <[u8]>::len);
        let end = i32::try_from(all).map_err(|_| {
            PyOverflowError::new_err(format!(
                "the field '{name}' has more than 2 GiB in one batch, more than an Arrow column can count; make batches \
                 smaller"
            ))
        })?;
        ends.extend_from_slice(&end.to_ne_bytes());
    }
    let mut said = Vec::with_capacity(all);
    let mut bits = vec![0; if missing { values.len().div_ceil(8) } else { 0 }];
    for (at, value) in values.iter().enumerate() {
        if let Some(bytes) = said_by(name, value)? {
            said.extend_from_slice(bytes);
            if let Some(byte) = bits.get_mut(at / 8) {
                *byte |= 1 << (at % 8);
            }
        }
    }
    Ok((missing.then_some(bits), ends, said))
}

/// The bytes of a text or of bytes.
fn said_by<'a>(name: &str, value: &'a Value) -> PyResult<Option<&'a [u8]>> {
    match value {
        Value::Text(text) | Value::Json(text) => Ok(Some(text.as_bytes())),
        Value::Bytes(bytes) => Ok(Some(bytes)),
        Value::Tensor(tensor) if tensor.dtype == infeed::Dtype::U8 => Ok(Some(&tensor.data)),
        Value::Missing => Ok(None),
        other => {
            Err(PyTypeError::new_err(format!("the field '{name}' has {} among texts or bytes", other.what())))
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
