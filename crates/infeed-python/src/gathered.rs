//! Text and bytes in Arrow's layout.

use crate::array::{Array, Owner};
use infeed::{Dtype, Value};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
};

/// What Python gets: validity bits, offsets, values.
pub(crate) type Arrays = (Option<Py<Array>>, Py<Array>, Py<Array>);

/// A column of values of varying length.
pub(crate) struct Gathered {
    /// The validity bits: one per value; `None` when all values are present.
    bits: Option<Vec<u8>>,
    /// The offsets as `i32`: a zero, then the end of each value.
    ends: Vec<u8>,
    /// All values, concatenated.
    said: Vec<u8>,
}

impl Gathered {
    pub(crate) fn new(name: &str, values: &[Value]) -> PyResult<Self> {
        let mut ends = Vec::with_capacity(size_of::<i32>() * (values.len() + 1));
        ends.extend_from_slice(&0i32.to_ne_bytes());
        let (mut all, mut missing) = (0usize, false);
        for value in values {
            let found = bytes(name, value)?;
            missing |= found.is_none();
            all += found.map_or(0, <[u8]>::len);
            let end = i32::try_from(all).map_err(|_| {
                PyOverflowError::new_err(format!(
                    "the field '{name}' has more than 2 GiB in one batch, more than an Arrow column can count; make \
                     batches smaller"
                ))
            })?;
            ends.extend_from_slice(&end.to_ne_bytes());
        }
        let mut said = Vec::with_capacity(all);
        let mut bits = missing.then(|| vec![0; values.len().div_ceil(8)]);
        for (at, value) in values.iter().enumerate() {
            if let Some(bytes) = bytes(name, value)? {
                said.extend_from_slice(bytes);
                if let Some(bits) = &mut bits {
                    bits[at / 8] |= 1 << (at % 8);
                }
            }
        }
        Ok(Gathered { bits, ends, said })
    }

    pub(crate) fn arrays(self, py: Python<'_>) -> PyResult<Arrays> {
        let array = |bytes: Vec<u8>, dtype: Dtype| {
            let shape = [bytes.len() / dtype.size()];
            Py::new(py, Array::new(Owner::Bytes(bytes.into()), dtype, &shape))
        };
        let bits = self.bits.map(|bits| array(bits, Dtype::U8)).transpose()?;
        Ok((bits, array(self.ends, Dtype::I32)?, array(self.said, Dtype::U8)?))
    }
}

/// The bytes of a text or bytes value.
fn bytes<'a>(name: &str, value: &'a Value) -> PyResult<Option<&'a [u8]>> {
    match value {
        Value::Text(text) | Value::Json(text) => Ok(Some(text.as_bytes())),
        Value::Bytes(bytes) => Ok(Some(bytes)),
        Value::Tensor(tensor) if tensor.dtype == Dtype::U8 => Ok(Some(&tensor.data)),
        Value::Missing => Ok(None),
        other => {
            Err(PyTypeError::new_err(format!("the field '{name}' has {} among texts or bytes", other.what())))
        }
    }
}
