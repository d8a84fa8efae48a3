//! Python iterators as streams.
//!
//! The package passes a function that makes an iterator; each item is a list of fields `(name, kind, shape, content)`:
//! `bytes` and `text` have no shape, arrays have the name of their element type as kind.

use infeed::{
    Dtype, Error, Result, Value,
    stream::{Items, Wrapped},
};
use infeed_core::{Stream, Tensor};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyIterator, PyTuple},
};
use std::sync::Arc;

/// A stream over the iterators that a Python function makes.
pub(crate) fn stream(make: Py<PyAny>, name: &str) -> Result<Arc<dyn Stream>> {
    let make = Arc::new(move || {
        let iterator = Python::attach(|py| {
            let made = make.bind(py).call0()?;
            PyIterator::from_object(&made).map(Bound::unbind)
        });
        let iterator = iterator.map_err(|e| told(&e))?;
        Ok(Box::new(ItemRows { iterator: Some(iterator) }) as Items)
    });
    Ok(Arc::new(Wrapped::new(name, make)?))
}

/// One running iterator.
struct ItemRows {
    iterator: Option<Py<PyIterator>>,
}

impl Iterator for ItemRows {
    type Item = Result<Vec<(Arc<str>, Value)>>;

    fn next(&mut self) -> Option<Self::Item> {
        let iterator = self.iterator.as_ref()?;
        let item = Python::attach(|py| {
            let next = iterator.bind(py).clone().next()?;
            Some(next.and_then(|item| fields(&item)).map_err(|e| told(&e)))
        });
        // An iterator that failed has ended.
        if !matches!(item, Some(Ok(_))) {
            self.iterator = None;
        }
        item
    }
}

fn fields(item: &Bound<'_, PyAny>) -> PyResult<Vec<(Arc<str>, Value)>> {
    item.try_iter()?
        .map(|field| {
            let field = field?.cast_into::<PyTuple>()?;
            let (name, kind): (String, String) =
                (field.get_item(0)?.extract()?, field.get_item(1)?.extract()?);
            let content = field.get_item(3)?;
            let value = match kind.as_str() {
                "text" => Value::Text(content.extract::<String>()?),
                kind => {
                    let bytes = content.cast::<PyBytes>()?.as_bytes().to_vec();
                    match Dtype::parse(kind) {
                        Some(dtype) => {
                            let shape: Vec<usize> = field.get_item(2)?.extract()?;
                            let made = Tensor::new(dtype, shape, bytes.into());
                            Value::Tensor(made.map_err(crate::errors::raise)?)
                        }
                        None => Value::Bytes(bytes.into()),
                    }
                }
            };
            Ok((name.into(), value))
        })
        .collect()
}

/// A Python exception as an error, with its traceback as text.
fn told(error: &PyErr) -> Error {
    Python::attach(|py| {
        let trace = error.traceback(py).and_then(|t| t.format().ok()).unwrap_or_default();
        Error::sample(format!("the iterator failed: {error}\n{trace}"))
    })
}
