//! Transforms for images in Python's memory.

use crate::{
    array::{Array, Owner},
    errors::raise,
};
use infeed::{batch::Lease, transform};
use infeed_core::{Error, Image, Rng, Scratch, Value};
use pyo3::{buffer::PyBuffer, prelude::*};
use std::{cell::RefCell, sync::Arc};

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// A chain of transforms.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Chain {
    inner: transform::Chain,
}

#[pymethods]
impl Chain {
    /// `steps` is JSON: a list of pairs of name and arguments.
    #[new]
    fn new(steps: &str) -> PyResult<Self> {
        let steps: Vec<_> = serde_json::from_str(steps)
            .map_err(|e| raise(infeed::Error::argument(format!("transforms: {e}"))))?;
        Ok(Chain { inner: transform::Chain::new(&steps).map_err(raise)? })
    }

    /// Applies them to the pixels of an image (u8, contiguous) of `(height, width, channels)`.
    fn apply(
        &self,
        py: Python<'_>,
        pixels: PyBuffer<u8>,
        size: (u32, u32, u8),
        address: (u64, u64, u64, u64),
    ) -> PyResult<Array> {
        let (height, width, channels) = size;
        let pixels = pixels.to_vec(py)?;
        py.detach(|| {
            SCRATCH.with_borrow_mut(|scratch| {
                let image = Image::raw(width, height, channels, pixels)?;
                let (lease, dtype, shape) = match self.inner.apply(image, address, scratch)? {
                    Value::Image(image) => {
                        let lease = Lease::filled(image.bytes(), |place| image.render(scratch, place))?;
                        (lease, image.finish.dtype, image.shape())
                    }
                    Value::Tensor(t) => {
                        let copy = |place: &mut [u8]| {
                            place.copy_from_slice(&t.data);
                            Ok::<(), Error>(())
                        };
                        (Lease::filled(t.data.len(), copy)?, t.dtype, t.shape)
                    }
                    other => {
                        return Err(Error::sample(format!("expected an image, found {}", other.what())));
                    }
                };
                Ok(Array::new(Owner::Lease(Arc::new(lease)), dtype, &shape))
            })
        })
        .map_err(raise)
    }
}

/// The first random number at an address: the seed for the generators of a user's function.
#[pyfunction]
pub(crate) fn random_at(seed: u64, epoch: u64, row: u64, stage: u64) -> u64 {
    Rng::at(seed, epoch, row, stage).next_u64()
}
