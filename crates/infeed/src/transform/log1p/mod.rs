//! `Log1p`: the logarithm of one more than a value.

use super::array::{
    float_of, need_array,
    pointwise::{Op, Real, each},
    tensor,
};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Log1p",
    about: "ln(1 + value) of an array, for values that span many magnitudes, such as rain; the result is float",
    params: &[Param {
        name: "signed",
        python: "bool",
        default: Some("false"),
        about: "keep the sign and take the logarithm of the size, so that all numbers have a result; otherwise values below \
                -1 become NaN",
    }],
    build,
};

#[derive(Debug)]
struct Log1p {
    signed: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Log1p { signed: args.flag("signed")? }))
}

struct Plain;

impl Op for Plain {
    fn on<R: Real>(&self) -> impl FnMut(R) -> R {
        R::log1p
    }
}

struct Signed;

impl Op for Signed {
    fn on<R: Real>(&self) -> impl FnMut(R) -> R {
        |x| x.size().log1p().signed_as(x)
    }
}

impl Transform for Log1p {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("Log1p", input)?;
        Ok(FieldSpec { dtype: float_of(input.dtype), ..input.clone() })
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        if self.signed { each(tensor, &Signed, context) } else { each(tensor, &Plain, context) }
    }
}
