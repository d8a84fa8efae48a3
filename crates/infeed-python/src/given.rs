//! Python objects that a recipe cannot hold: iterators and arrays, which the package passes beside the recipe.
//!
//! A source of the format `python`, `arrays` or `rows` names one of them as its path. `python` is a function that makes
//! an iterator (see `items`), `arrays` is a number of rows and a list of fields `(name, kind, element type, shape, bytes,
//! offsets)`, and `rows` only a number of rows: their samples are made in Python.

use crate::{errors::raise, items};
use infeed::{
    Dtype, Error, Result,
    engine::Opened,
    read::{Cells, MemorySource},
    recipe::SourceRecipe,
};
use infeed_core::Bytes;
use pyo3::{
    buffer::PyBuffer,
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use std::sync::Arc;

/// The formats that are looked up here.
const FORMATS: [&str; 3] = ["python", "arrays", "rows"];

/// Opens a source of a Python object; `None` if it is not one of those.
pub(crate) fn open(source: &SourceRecipe, given: Option<&Py<PyDict>>) -> Result<Option<Opened>> {
    if !FORMATS.contains(&source.format.as_str()) {
        return Ok(None);
    }
    let name = source.paths.join(", ");
    let missing = || {
        Error::argument(format!("`{name}` was passed in from Python, and a recipe alone does not have it"))
    };
    Python::attach(|py| {
        let object = match given {
            Some(given) => given.bind(py).get_item(&name).ok().flatten().ok_or_else(missing)?,
            None => return Err(missing()),
        };
        let told = |e: PyErr| Error::argument(format!("`{name}`: {e}"));
        Ok(Some(match source.format.as_str() {
            "python" => {
                let make = object.unbind();
                // The first items are made here, by Python code that may need other Python threads to run.
                Opened::Stream(py.detach(|| items::stream(make, &name))?)
            }
            "rows" => {
                let rows: u64 = object.extract().map_err(told)?;
                Opened::Rows(Arc::new(MemorySource::new(&*name, rows, vec![])?))
            }
            _ => {
                let (rows, list): (u64, Bound<'_, PyList>) = object.extract().map_err(told)?;
                let fields =
                    list.iter().map(|field| cells(&field)).collect::<PyResult<Vec<_>>>().map_err(told)?;
                Opened::Rows(Arc::new(MemorySource::new(&*name, rows, fields)?))
            }
        }))
    })
}

fn cells(field: &Bound<'_, PyAny>) -> PyResult<(String, Cells)> {
    let field = field.cast::<PyTuple>()?;
    let (name, kind, dtype): (String, String, String) =
        (field.get_item(0)?.extract()?, field.get_item(1)?.extract()?, field.get_item(2)?.extract()?);
    let shape: Vec<usize> = field.get_item(3)?.extract()?;
    let data = bytes(&field.get_item(4)?)?;
    let cells = match kind.as_str() {
        "array" => {
            let unknown = || PyValueError::new_err(format!("there is no element type {dtype}"));
            Cells::Array { dtype: Dtype::parse(&dtype).ok_or_else(unknown)?, shape, data }
        }
        "image" => {
            let wrong = |_| PyValueError::new_err("an image has height, width and channels");
            Cells::Image { shape: shape.try_into().map_err(wrong)?, data }
        }
        _ => {
            let offsets: Vec<u64> = bytes(&field.get_item(5)?)?
                .chunks_exact(8)
                .map(|b| u64::from_ne_bytes(b.try_into().unwrap_or_default()))
                .collect();
            Cells::Pieces { offsets: offsets.into(), data, text: kind == "text" }
        }
    };
    Ok((name, cells))
}

/// The memory of a Python object, without a copy; the object is kept alive as long as it is used.
fn bytes(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let buffer = PyBuffer::<u8>::get(object)?;
    if !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("the memory of a field must be contiguous"));
    }
    if buffer.len_bytes() == 0 {
        return Ok(Bytes::new());
    }
    Ok(Bytes::from_owner(Memory(buffer)))
}

struct Memory(PyBuffer<u8>);

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the buffer is contiguous (checked above) and does not move until `self` is dropped. If an array is
        // changed while a loader reads it, the loader sees a mixture of old and new values, as any other reader would:
        // `MemorySource` copies every value before it is validated, so no check relies on memory that can change.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

/// Plans a recipe; errors become Python exceptions.
pub(crate) fn plan(py: Python<'_>, recipe: &str, given: Option<&Py<PyDict>>) -> PyResult<infeed::Plan> {
    let mut notes = Vec::new();
    let mut open = |source: &SourceRecipe| match open(source, given)? {
        Some(opened) => Ok(opened),
        None => infeed::open_noted(source, &mut notes),
    };
    // Opening reads every shard's index: other Python threads can run meanwhile.
    let plan = py.detach(|| infeed::Plan::with(infeed::Recipe::from_json(recipe)?, &mut open));
    let mut plan = plan.map_err(raise)?;
    plan.notes = notes;
    Ok(plan)
}
