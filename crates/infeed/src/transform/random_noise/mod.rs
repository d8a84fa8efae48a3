//! `RandomNoise`: adds normally distributed numbers.

use super::array::{
    element::cast,
    float_of, need_array,
    pointwise::{Op, Real, each},
    tensor,
};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Rng, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomNoise",
    about: "add gaussian noise to an array; the result is float",
    params: &[
        Param {
            name: "std",
            python: "float | Sequence[float]",
            default: Some("[0.0, 0.1]"),
            about: "standard deviation, or the smallest and the largest one, in units of the values",
        },
        Param { name: "p", python: "float", default: Some("1.0"), about: "probability of doing it" },
    ],
    build,
};

#[derive(Debug)]
struct RandomNoise {
    low: f64,
    high: f64,
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (low, high) = match args.floats("std")?.as_slice() {
        [one] => (*one, *one),
        [low, high] => (*low, *high),
        _ => return Err(args.error("std", "must be a number or (low, high)")),
    };
    if !(0.0 <= low && low <= high) {
        return Err(args.error("std", "must be (low, high) with 0 <= low <= high"));
    }
    Ok(Box::new(RandomNoise { low, high, p: args.probability("p")? }))
}

struct Noise {
    std: f64,
    rng: Rng,
}

impl Op for Noise {
    fn on<R: Real>(&self) -> impl FnMut(R) -> R {
        let mut rng = self.rng.clone();
        let std = self.std;
        move |x| x + R::of(rng.normal() * std)
    }
}

impl Transform for RandomNoise {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("RandomNoise", input)?;
        Ok(FieldSpec { dtype: float_of(input.dtype), ..input.clone() })
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let chosen = context.rng.chance(self.p);
        let std = context.rng.uniform(self.low, self.high);
        if !chosen {
            return cast(tensor, float_of(tensor.dtype), context);
        }
        each(tensor, &Noise { std, rng: context.rng.clone() }, context)
    }
}
