//! `RandomEqualize`: equalises the histogram of every channel, with a given probability.

use super::pixels::{P, colours, need_colours};
use infeed_core::{Args, Context, Entry, FieldSpec, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomEqualize",
    about: "make all levels of every channel equally frequent, with a given probability",
    params: &[P],
    build,
};

#[derive(Debug)]
struct RandomEqualize {
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(RandomEqualize { p: args.probability("p")? }))
}

impl Transform for RandomEqualize {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("RandomEqualize", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if context.rng.chance(self.p) {
            let (pixels, channels) = colours(image, context)?;
            infeed_pixels::equalize(pixels, channels);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
