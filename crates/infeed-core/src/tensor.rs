//! A dense array that owns its bytes.

use crate::{Dtype, Error, Result};
use bytes::Bytes;

/// Row-major, native-endian elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Element type.
    pub dtype: Dtype,
    /// Shape; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Bytes,
}

impl Tensor {
    /// Creates a tensor; fails if the bytes do not match the shape.
    pub fn new(dtype: Dtype, shape: Vec<usize>, data: Bytes) -> Result<Self> {
        let wanted = shape.iter().try_fold(dtype.size(), |n, d| n.checked_mul(*d));
        if wanted != Some(data.len()) {
            return Err(Error::sample(format!("array of {dtype}{shape:?} cannot have {} bytes", data.len())));
        }
        Ok(Tensor { dtype, shape, data })
    }

    /// Creates an integer scalar.
    pub fn int(value: i64) -> Self {
        Tensor { dtype: Dtype::I64, shape: vec![], data: Bytes::copy_from_slice(&value.to_ne_bytes()) }
    }

    /// Creates a float scalar.
    pub fn float(value: f64) -> Self {
        Tensor { dtype: Dtype::F64, shape: vec![], data: Bytes::copy_from_slice(&value.to_ne_bytes()) }
    }
}
