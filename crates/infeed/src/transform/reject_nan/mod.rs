//! `RejectNan`: refuses arrays with elements that hold no value.

use super::{
    array::{element::with_element, need_array, place, tensor},
    fill_nan::{MISSING, first, held, missing},
};
use infeed_core::{Args, Context, Entry, Error, FieldSpec, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RejectNan",
    about: "refuse arrays with NaN, or with numbers that stand for no value; the error names the row, and on_error=\"skip\" \
            leaves it out",
    params: &[MISSING],
    build,
};

#[derive(Debug)]
struct RejectNan {
    missing: Vec<f64>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(RejectNan { missing: missing(args)? }))
}

impl Transform for RejectNan {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("RejectNan", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let dtype = tensor.dtype;
        let found = with_element!(dtype, E => first::<E>(&tensor.data, &held(dtype, &self.missing)));
        match found {
            None => Ok(()),
            Some(at) => Err(Error::sample(format!(
                "RejectNan found an element without a value at {:?} of an array of {dtype}{:?}; FillNan replaces them",
                place(at, &tensor.shape),
                tensor.shape
            ))),
        }
    }
}
