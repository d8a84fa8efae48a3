//! `Scale`: value * factor + offset.

use super::array::{
    float_of, need_array,
    pointwise::{Op, Real, each},
    tensor,
};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Scale",
    about: "value * factor + offset of an array, as CF's scale_factor and add_offset; the result is float",
    params: &[
        Param {
            name: "factor",
            python: "float",
            default: Some("1.0"),
            about: "what values are multiplied by",
        },
        Param { name: "offset", python: "float", default: Some("0.0"), about: "what is added then" },
    ],
    build,
};

#[derive(Debug)]
struct Scale {
    factor: f64,
    offset: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Scale { factor: args.float("factor")?, offset: args.float("offset")? }))
}

impl Op for Scale {
    fn on<R: Real>(&self) -> impl FnMut(R) -> R {
        let (factor, offset) = (R::of(self.factor), R::of(self.offset));
        move |x| x * factor + offset
    }
}

impl Transform for Scale {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("Scale", input)?;
        Ok(FieldSpec { dtype: float_of(input.dtype), ..input.clone() })
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        each(tensor(value)?, self, context)
    }
}
