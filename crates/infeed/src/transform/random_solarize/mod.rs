//! `RandomSolarize`: inverts bright values, with a given probability.

use super::pixels::{P, colours, need_colours};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomSolarize",
    about: "invert the values from a threshold on, with a given probability",
    params: &[
        Param {
            name: "threshold",
            python: "float",
            default: None,
            about: "values from here on are inverted, in levels of 0..255",
        },
        P,
    ],
    build,
};

#[derive(Debug)]
struct RandomSolarize {
    threshold: f64,
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(RandomSolarize { threshold: args.float("threshold")?, p: args.probability("p")? }))
}

impl Transform for RandomSolarize {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("RandomSolarize", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if context.rng.chance(self.p) {
            infeed_pixels::solarize(colours(image, context)?.0, self.threshold);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
