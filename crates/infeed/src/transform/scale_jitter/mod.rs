//! `ScaleJitter`: resizes so that the image fits a target size times a random factor.

use super::common::{ANTIALIAS, INTERPOLATION, filter, need_place};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};
use infeed_resample::Filter;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "ScaleJitter",
    about: "resize to fit a target size times a random factor; the shape stays",
    params: &[
        Param {
            name: "target_size",
            python: "int | Sequence[int]",
            default: None,
            about: "the size that factors refer to: a side, or (height, width)",
        },
        Param {
            name: "scale_range",
            python: "Sequence[float]",
            default: Some("[0.1, 2.0]"),
            about: "smallest and largest factor",
        },
        INTERPOLATION,
        ANTIALIAS,
    ],
    build,
};

#[derive(Debug)]
struct ScaleJitter {
    height: u32,
    width: u32,
    scale: (f64, f64),
    filter: Filter,
    antialias: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (height, width) = args.size("target_size")?;
    let scale = args.pair("scale_range")?;
    if !(0.0 < scale.0 && scale.0 <= scale.1) {
        return Err(args.error("scale_range", "must be (low, high) with 0 < low <= high"));
    }
    Ok(Box::new(ScaleJitter {
        height,
        width,
        scale,
        filter: filter(args)?,
        antialias: args.flag("antialias")?,
    }))
}

impl ScaleJitter {
    fn choose(&self, (width, height): Canvas, rng: &mut Rng) -> Canvas {
        let (w, h) = (f64::from(width), f64::from(height));
        let factor = rng.uniform(self.scale.0, self.scale.1);
        let by = (f64::from(self.height) / h).min(f64::from(self.width) / w) * factor;
        (((w * by) as u32).max(1), ((h * by) as u32).max(1))
    }
}

impl Transform for ScaleJitter {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("ScaleJitter", input)?;
        Ok(input.with_size(Dim::Any, Dim::Any))
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, canvas: Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        Ok(vec![Move::Resize(self.choose(canvas, rng))].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let (width, height) = self.choose((image.width(), image.height()), &mut context.rng);
        image.resize(width, height, self.filter, self.antialias, context.scratch)
    }
}
