//! `AutoAugment`: a pair of operations from a learned list.

mod policies;

use super::pixels::{FILL, SAMPLING, need_colours};
use super::policy::{Space, Style, signed};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Reach, Result, Transform, Value};
use policies::{CIFAR10, IMAGENET, Pair, SVHN};

/// Number of magnitude bins in the lists.
const BINS: usize = 10;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "AutoAugment",
    about: "a pair of operations on colours and geometry, chosen at random from a learned list",
    params: &[
        Param {
            name: "policy",
            python: "object",
            default: Some("\"imagenet\""),
            about: "imagenet, cifar10 or svhn, or torchvision's AutoAugmentPolicy",
        },
        SAMPLING,
        Param { default: Some("null"), ..FILL },
    ],
    build,
};

#[derive(Debug)]
struct AutoAugment {
    pairs: &'static [Pair],
    style: Style,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let pairs = match args.text("policy")? {
        "imagenet" => &IMAGENET,
        "cifar10" => &CIFAR10,
        "svhn" => &SVHN,
        _ => return Err(args.error("policy", "must be imagenet, cifar10 or svhn")),
    };
    Ok(Box::new(AutoAugment { pairs, style: Style::new(args)? }))
}

impl Transform for AutoAugment {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("AutoAugment", input)?;
        Ok(input.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Alone
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let size = (image.width(), image.height());
        for (op, probability, bin) in self.pairs[context.rng.below(self.pairs.len() as u64) as usize] {
            if !context.rng.chance(probability) {
                continue;
            }
            let mut magnitude = Space::USUAL.magnitude(op, bin, BINS, size).unwrap_or(0.0);
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
