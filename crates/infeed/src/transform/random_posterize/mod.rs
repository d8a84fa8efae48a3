//! `RandomPosterize`: keeps the highest bits of every value, with a given probability.

use super::pixels::{P, colours, need_colours};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomPosterize",
    about: "keep only the highest bits of every value, with a given probability",
    params: &[Param { name: "bits", python: "int", default: None, about: "bits to keep, 1 to 8" }, P],
    build,
};

#[derive(Debug)]
struct RandomPosterize {
    bits: u32,
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let bits = args.int("bits", 1)?;
    if bits > 8 {
        return Err(args.error("bits", "must be 1 to 8"));
    }
    Ok(Box::new(RandomPosterize { bits: bits as u32, p: args.probability("p")? }))
}

impl Transform for RandomPosterize {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("RandomPosterize", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if context.rng.chance(self.p) {
            infeed_pixels::posterize(colours(image, context)?.0, self.bits);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
