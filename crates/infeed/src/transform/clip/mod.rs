//! `Clip`: limits the values of an array.

use super::array::{
    edit,
    element::{Element, with_element},
    need_array, tensor,
};
use infeed_core::{Args, Context, Dtype, Entry, Error, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Clip",
    about: "limit the values of an array, which keeps its type; NaN stays NaN",
    params: &[
        Param {
            name: "low",
            python: "float | None",
            default: Some("null"),
            about: "smaller values become this one",
        },
        Param {
            name: "high",
            python: "float | None",
            default: Some("null"),
            about: "larger values become this one",
        },
    ],
    build,
};

#[derive(Debug)]
struct Clip {
    low: Option<f64>,
    high: Option<f64>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let one = |name| if args.is_none(name) { Ok(None) } else { args.float(name).map(Some) };
    let (low, high) = (one("low")?, one("high")?);
    match (low, high) {
        (None, None) => Err(Error::argument("Clip needs low, high or both")),
        (Some(low), Some(high)) if low > high => {
            Err(args.error("high", &format!("must be at least low ({low})")))
        }
        _ => Ok(Box::new(Clip { low, high })),
    }
}

impl Clip {
    /// The limits as elements. Those of integers are the whole numbers within.
    fn run<E: Element>(&self, bytes: &mut [u8], whole: bool) {
        let low = self.low.map(|x| E::of_f64(if whole { x.ceil() } else { x }));
        let high = self.high.map(|x| E::of_f64(if whole { x.floor() } else { x }));
        for raw in E::all_mut(bytes) {
            let mut x = E::get(*raw);
            if let Some(low) = low
                && x < low
            {
                x = low;
            }
            if let Some(high) = high
                && x > high
            {
                x = high;
            }
            *raw = x.raw();
        }
    }
}

impl Transform for Clip {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("Clip", input)?;
        if input.dtype == Dtype::Bool {
            return Err(Error::plan("Clip", format!("works on numbers, but the field is {input}")));
        }
        if let (Some((least, most)), false) = (input.dtype.range(), input.dtype.is_float()) {
            // A limit beyond all values of the type would empty it of the others.
            let outside =
                self.low.is_some_and(|x| x > most as f64) || self.high.is_some_and(|x| x < least as f64);
            let none = self.low.zip(self.high).is_some_and(|(low, high)| low.ceil() > high.floor());
            if outside || none {
                return Err(Error::plan(
                    "Clip",
                    format!(
                        "leaves no value of {}: low is {:?} and high is {:?}",
                        input.dtype, self.low, self.high
                    ),
                ));
            }
        }
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let (dtype, whole) = (tensor.dtype, tensor.dtype.is_integer());
        context.scratch.claim(tensor.data.len() as u64)?;
        edit(&mut tensor.data, |bytes| with_element!(dtype, E => self.run::<E>(bytes, whole)))
    }
}
