//! `TrivialAugmentWide`: one random operation of random strength.

use super::pixels::{FILL, SAMPLING, need_colours};
use super::policy::{Op, Space, Style, signed};
use super::rand_augment::BINS;
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Reach, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "TrivialAugmentWide",
    about: "one operation on colours or geometry, chosen at random, of random strength",
    params: &[BINS, SAMPLING, Param { default: Some("null"), ..FILL }],
    build,
};

#[derive(Debug)]
struct TrivialAugmentWide {
    bins: usize,
    style: Style,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(TrivialAugmentWide {
        bins: args.int("num_magnitude_bins", 1)? as usize,
        style: Style::new(args)?,
    }))
}

impl Transform for TrivialAugmentWide {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("TrivialAugmentWide", input)?;
        Ok(input.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Alone
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let op = Op::COMMON[context.rng.below(Op::COMMON.len() as u64) as usize];
        let bin = context.rng.below(self.bins as u64) as usize;
        let size = (image.width(), image.height());
        let mut magnitude = Space::WIDE.magnitude(op, bin, self.bins, size).unwrap_or(0.0);
        if signed(op) && context.rng.chance(0.5) {
            magnitude = -magnitude;
        }
        self.style.apply(image, op, magnitude, context)
    }
}

#[cfg(test)]
mod tests;
