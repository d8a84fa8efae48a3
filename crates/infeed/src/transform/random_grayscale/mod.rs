//! `RandomGrayscale`: turns colours into gray with a given probability; the number of channels stays.

use super::pixels::{colours, need_colours};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomGrayscale",
    about: "turn colours into gray with a given probability; the channels stay",
    params: &[Param { name: "p", python: "float", default: Some("0.1"), about: "probability of gray" }],
    build,
};

#[derive(Debug)]
struct RandomGrayscale {
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(RandomGrayscale { p: args.probability("p")? }))
}

impl Transform for RandomGrayscale {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("RandomGrayscale", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if context.rng.chance(self.p) && image.channels() != 1 {
            infeed_pixels::gray_in_place(colours(image, context)?.0);
        }
        Ok(())
    }
}
