//! `RandomGamma`: bends the values of an array between its smallest and its largest.

use super::array::{
    element::{Element, cast, with_element},
    float_of, need_array,
    pointwise::{Op, Real, each},
    tensor,
};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomGamma",
    about: "raise the values of an array to a random power, after its own range was mapped to 0..1, and map them back; the \
            result is float",
    params: &[
        Param {
            name: "gamma",
            python: "Sequence[float]",
            default: Some("[0.7, 1.5]"),
            about: "smallest and largest power; as likely above 1 as below, measured in logarithms",
        },
        Param { name: "p", python: "float", default: Some("0.5"), about: "probability of doing it" },
    ],
    build,
};

#[derive(Debug)]
struct RandomGamma {
    low: f64,
    high: f64,
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (low, high) = args.pair("gamma")?;
    if !(0.0 < low && low <= high) {
        return Err(args.error("gamma", "must be (low, high) with 0 < low <= high"));
    }
    Ok(Box::new(RandomGamma { low, high, p: args.probability("p")? }))
}

/// The smallest and the largest finite value.
fn range<E: Element>(bytes: &[u8]) -> Option<(f64, f64)> {
    let finite = E::all(bytes).iter().map(|raw| E::get(*raw).to_f64()).filter(|x| x.is_finite());
    finite.fold(None, |range, x| match range {
        None => Some((x, x)),
        Some((low, high)) => Some((low.min(x), high.max(x))),
    })
}

struct Bend {
    low: f64,
    high: f64,
    gamma: f64,
}

impl Op for Bend {
    fn on<R: Real>(&self) -> impl FnMut(R) -> R {
        let (low, span, gamma) = (R::of(self.low), R::of(self.high - self.low), R::of(self.gamma));
        move |x| ((x - low) / span).power(gamma) * span + low
    }
}

impl Transform for RandomGamma {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("RandomGamma", input)?;
        Ok(FieldSpec { dtype: float_of(input.dtype), ..input.clone() })
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        cast(tensor, float_of(tensor.dtype), context)?;
        let chosen = context.rng.chance(self.p);
        let gamma = context.rng.uniform(self.low.ln(), self.high.ln()).exp();
        let range = with_element!(tensor.dtype, E => range::<E>(&tensor.data));
        match range {
            // One value alone has no range that could be bent.
            Some((low, high)) if chosen && low < high && (high - low).is_finite() => {
                each(tensor, &Bend { low, high, gamma }, context)
            }
            _ => Ok(()),
        }
    }
}
