//! `RandomZoomOut`: puts the image somewhere on a larger canvas, with a given probability.

use super::common::{FILL, fill, need_place};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomZoomOut",
    about: "put the image somewhere on a larger canvas with a given probability",
    params: &[
        FILL,
        Param {
            name: "side_range",
            python: "Sequence[float]",
            default: Some("[1.0, 4.0]"),
            about: "smallest and largest factor of the sides",
        },
        Param { name: "p", python: "float", default: Some("0.5"), about: "probability of doing it" },
    ],
    build,
};

#[derive(Debug)]
struct RandomZoomOut {
    fill: [u8; 4],
    sides: (f64, f64),
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let sides = args.pair("side_range")?;
    if !(1.0 <= sides.0 && sides.0 <= sides.1) {
        return Err(args.error("side_range", "must be (low, high) with 1 <= low <= high"));
    }
    Ok(Box::new(RandomZoomOut { fill: fill(args)?, sides, p: args.probability("p")? }))
}

impl RandomZoomOut {
    /// The upper left corner of the canvas seen from the image, and the size of the canvas.
    fn choose(&self, (width, height): Canvas, rng: &mut Rng) -> Option<(i64, i64, Canvas)> {
        if !rng.chance(self.p) {
            return None;
        }
        let by = rng.uniform(self.sides.0, self.sides.1);
        let grown = |side: u32| (f64::from(side) * by) as u32;
        let (w, h) = (grown(width).max(width), grown(height).max(height));
        let left = (f64::from(w - width) * rng.unit()) as i64;
        let top = (f64::from(h - height) * rng.unit()) as i64;
        Some((-left, -top, (w, h)))
    }
}

impl Transform for RandomZoomOut {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("RandomZoomOut", input)?;
        Ok(input.with_size(Dim::Any, Dim::Any))
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, canvas: Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let chosen = self.choose(canvas, rng);
        Ok(chosen
            .map_or_else(Moves::default, |(left, top, size)| vec![Move::Crop { left, top, size }].into()))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        match self.choose((image.width(), image.height()), &mut context.rng) {
            Some((left, top, (w, h))) => image.crop(left, top, w, h, self.fill, context.scratch),
            None => Ok(()),
        }
    }
}
