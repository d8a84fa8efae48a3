//! `FillNan`: replaces elements that hold no value.

use super::array::{
    edit,
    element::{Element, element, element_bytes, with_element},
    need_array, tensor,
};
use infeed_core::{Args, Context, Entry, Error, FieldSpec, Param, Result, Transform, Value};

/// The `missing` parameter.
pub(super) const MISSING: Param = Param {
    name: "missing",
    python: "float | Sequence[float] | None",
    default: Some("null"),
    about: "numbers that stand for no value too, such as netCDF's _FillValue and missing_value",
};

/// Reads [`MISSING`].
pub(super) fn missing(args: &Args) -> Result<Vec<f64>> {
    if args.is_none(MISSING.name) { Ok(vec![]) } else { args.floats(MISSING.name) }
}

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "FillNan",
    about: "replace NaN, and numbers that stand for no value, by a value; the array keeps its type",
    params: &[
        Param { name: "value", python: "float", default: Some("0.0"), about: "what is put in their place" },
        MISSING,
    ],
    build,
};

#[derive(Debug)]
struct FillNan {
    value: f64,
    missing: Vec<f64>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(FillNan { value: args.float("value")?, missing: missing(args)? }))
}

/// The first element without a value.
pub(super) fn first<E: Element>(bytes: &[u8], missing: &[E]) -> Option<usize> {
    E::all(bytes).iter().position(|raw| is_missing(E::get(*raw), missing))
}

/// Numbers that a type can hold; others are in no array of it.
pub(super) fn held<E: Element>(dtype: infeed_core::Dtype, missing: &[f64]) -> Vec<E> {
    missing.iter().filter_map(|x| element(dtype, *x)).collect()
}

// NaN is the one number that differs from itself.
#[allow(clippy::eq_op)]
fn is_missing<E: Element>(x: E, missing: &[E]) -> bool {
    x != x || missing.contains(&x)
}

impl FillNan {
    fn run<E: Element>(&self, dtype: infeed_core::Dtype, bytes: &mut [u8]) {
        let (missing, filling) = (held::<E>(dtype, &self.missing), E::of_f64(self.value).raw());
        for raw in E::all_mut(bytes) {
            if is_missing(E::get(*raw), &missing) {
                *raw = filling;
            }
        }
    }
}

impl Transform for FillNan {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("FillNan", input)?;
        if element_bytes(input.dtype, self.value).is_none() {
            let what = format!("value is {}, which {} cannot hold", self.value, input.dtype);
            return Err(Error::plan("FillNan", what));
        }
        if !input.dtype.is_float() && self.missing.is_empty() {
            let what = format!(
                "the field is {input}, which has no NaN: say which number stands for it with missing="
            );
            return Err(Error::plan("FillNan", what));
        }
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let dtype = tensor.dtype;
        // Most arrays have none, and need not be copied.
        if with_element!(dtype, E => first::<E>(&tensor.data, &held(dtype, &self.missing))).is_none() {
            return Ok(());
        }
        context.scratch.claim(tensor.data.len() as u64)?;
        edit(&mut tensor.data, |bytes| with_element!(dtype, E => self.run::<E>(dtype, bytes)))
    }
}
