//! `RandomAutocontrast`: stretches every channel to the full range, with a given probability.

use super::pixels::{P, colours, need_colours};
use infeed_core::{Args, Context, Entry, FieldSpec, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomAutocontrast",
    about: "stretch every channel to 0..255, with a given probability",
    params: &[P],
    build,
};

#[derive(Debug)]
struct RandomAutocontrast {
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(RandomAutocontrast { p: args.probability("p")? }))
}

impl Transform for RandomAutocontrast {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("RandomAutocontrast", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if context.rng.chance(self.p) {
            let (pixels, channels) = colours(image, context)?;
            infeed_pixels::autocontrast(pixels, channels);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
