//! `RandomAdjustSharpness`: sharpens or smooths, with a given probability.

use super::pixels::{P, need_pixels, redraw_with};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomAdjustSharpness",
    about: "make sharper or smoother, with a given probability",
    params: &[
        Param {
            name: "sharpness_factor",
            python: "float",
            default: None,
            about: "0 is smooth, 1 the image itself, 2 sharp",
        },
        P,
    ],
    build,
};

#[derive(Debug)]
struct RandomAdjustSharpness {
    factor: f64,
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let factor = args.float("sharpness_factor")?;
    if factor < 0.0 {
        return Err(args.error("sharpness_factor", "must not be negative"));
    }
    Ok(Box::new(RandomAdjustSharpness { factor, p: args.probability("p")? }))
}

impl Transform for RandomAdjustSharpness {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_pixels("RandomAdjustSharpness", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if context.rng.chance(self.p) {
            let row = u64::from(image.width()) * u64::from(image.channels()) * 2;
            redraw_with(image, context, row, |picture, out| {
                infeed_pixels::sharpness(picture, self.factor, out)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
