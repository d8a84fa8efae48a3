//! `RandomAffine`: random rotation, translation, scale and shear.

use super::common::round_even;
use super::pixels::{FILL, SAMPLING, degrees, fill, need_place_pixels, sampling, warp};
use super::random_rotation::{CENTER, center};
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, FieldSpec, Image, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};
use infeed_pixels::{Affine, Sampling, affine};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomAffine",
    about: "turn, move, scale and shear at random",
    params: &[
        Param {
            name: "degrees",
            python: "float | Sequence[float]",
            default: None,
            about: "x for angles in -x..x, or (low, high); 0 does not turn",
        },
        Param {
            name: "translate",
            python: "Sequence[float] | None",
            default: Some("null"),
            about: "largest shares (a, b) of width and height to move by",
        },
        Param {
            name: "scale",
            python: "Sequence[float] | None",
            default: Some("null"),
            about: "smallest and largest scale",
        },
        Param {
            name: "shear",
            python: "float | Sequence[float] | None",
            default: Some("null"),
            about: "degrees of shear along x: s for -s..s, or (low, high); four numbers are ranges along x and y",
        },
        SAMPLING,
        FILL,
        CENTER,
    ],
    build,
};

#[derive(Debug)]
struct RandomAffine {
    degrees: (f64, f64),
    translate: Option<(f64, f64)>,
    scale: Option<(f64, f64)>,
    shear: Vec<f64>,
    sampling: Sampling,
    fill: [u8; 4],
    center: Option<(f64, f64)>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let pair = |name: &str| if args.is_none(name) { Ok(None) } else { args.pair(name).map(Some) };
    let range = degrees(args, "degrees", &[2])?;
    let (translate, scale) = (pair("translate")?, pair("scale")?);
    if translate.is_some_and(|(a, b)| !(0.0..=1.0).contains(&a) || !(0.0..=1.0).contains(&b)) {
        return Err(args.error("translate", "must be between 0 and 1"));
    }
    if scale.is_some_and(|(a, b)| a <= 0.0 || b <= 0.0) {
        return Err(args.error("scale", "must be positive"));
    }
    let shear = if args.is_none("shear") { vec![] } else { degrees(args, "shear", &[2, 4])? };
    Ok(Box::new(RandomAffine {
        degrees: (range[0], range[1]),
        translate,
        scale,
        shear,
        sampling: sampling(args)?,
        fill: fill(args)?,
        center: center(args)?,
    }))
}

/// The parameters drawn for one image.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Choice {
    angle: f64,
    translate: (f64, f64),
    scale: f64,
    shear: (f64, f64),
}

impl RandomAffine {
    fn choose(&self, width: u32, height: u32, rng: &mut Rng) -> Choice {
        let mut within = |(low, high): (f64, f64)| rng.uniform(low, high);
        let angle = within(self.degrees);
        let translate = self.translate.map_or((0.0, 0.0), |(a, b)| {
            let (x, y) = (a * f64::from(width), b * f64::from(height));
            (round_even(within((-x, x))) as f64, round_even(within((-y, y))) as f64)
        });
        let scale = self.scale.map_or(1.0, &mut within);
        let shear = match self.shear.as_slice() {
            [a, b] => (within((*a, *b)), 0.0),
            [a, b, c, d] => (within((*a, *b)), within((*c, *d))),
            _ => (0.0, 0.0),
        };
        Choice { angle, translate, scale, shear }
    }

    fn matrix(&self, (width, height): Canvas, choice: &Choice) -> Affine {
        let center = self.center.unwrap_or((f64::from(width) * 0.5, f64::from(height) * 0.5));
        affine(center, choice.angle, choice.translate, choice.scale, choice.shear)
    }

    fn warp(&self, image: &mut Image, choice: &Choice, context: &mut Context<'_>) -> Result<()> {
        let matrix = self.matrix((image.width(), image.height()), choice);
        warp(image, &matrix, self.sampling, self.fill, context)
    }
}

impl Transform for RandomAffine {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place_pixels("RandomAffine", input)?;
        Ok(input.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, size: Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let from = self.matrix(size, &self.choose(size.0, size.1, rng));
        Ok(vec![Move::Affine { from, size }].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let choice = self.choose(image.width(), image.height(), &mut context.rng);
        self.warp(image, &choice, context)
    }
}

#[cfg(test)]
mod tests;
