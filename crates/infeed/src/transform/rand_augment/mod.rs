//! `RandAugment`: some random operations, all of one strength.

use super::pixels::{FILL, SAMPLING, need_colours};
use super::policy::{Op, Space, Style, signed};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Reach, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandAugment",
    about: "some operations on colours and geometry, chosen at random, all of one strength",
    params: &[
        Param { name: "num_ops", python: "int", default: Some("2"), about: "operations per image" },
        Param {
            name: "magnitude",
            python: "int",
            default: Some("9"),
            about: "their strength: a bin, from 0 on",
        },
        BINS,
        SAMPLING,
        Param { default: Some("null"), ..FILL },
    ],
    build,
};

/// The `num_magnitude_bins` parameter.
pub(super) const BINS: Param = Param {
    name: "num_magnitude_bins",
    python: "int",
    default: Some("31"),
    about: "how many strengths there are",
};

#[derive(Debug)]
struct RandAugment {
    ops: i64,
    magnitude: usize,
    bins: usize,
    style: Style,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (magnitude, bins) = (args.int("magnitude", 0)?, args.int("num_magnitude_bins", 1)?);
    if magnitude >= bins {
        return Err(args.error("magnitude", &format!("must be below num_magnitude_bins ({bins})")));
    }
    Ok(Box::new(RandAugment {
        ops: args.int("num_ops", 0)?,
        magnitude: magnitude as usize,
        bins: bins as usize,
        style: Style::new(args)?,
    }))
}

impl Transform for RandAugment {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("RandAugment", input)?;
        Ok(input.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Alone
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let size = (image.width(), image.height());
        for _ in 0..self.ops {
            let op = Op::COMMON[context.rng.below(Op::COMMON.len() as u64) as usize];
            let mut magnitude = Space::USUAL.magnitude(op, self.magnitude, self.bins, size).unwrap_or(0.0);
            if signed(op) && context.rng.chance(0.5) {
                magnitude = -magnitude;
            }
            self.style.apply(image, op, magnitude, context)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
