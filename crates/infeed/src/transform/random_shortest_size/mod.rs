//! `RandomShortestSize`: resizes the short side to one of several lengths.

use super::common::{ANTIALIAS, INTERPOLATION, filter, need_place};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};
use infeed_resample::Filter;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomShortestSize",
    about: "resize the short side to one of several lengths, as detectors are trained",
    params: &[
        Param {
            name: "min_size",
            python: "int | Sequence[int]",
            default: None,
            about: "lengths of the short side to draw from",
        },
        Param {
            name: "max_size",
            python: "int | None",
            default: Some("null"),
            about: "longest side allowed",
        },
        INTERPOLATION,
        ANTIALIAS,
    ],
    build,
};

#[derive(Debug)]
struct RandomShortestSize {
    sides: Vec<u32>,
    longest: Option<u32>,
    filter: Filter,
    antialias: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let sides = args.ints("min_size", 1)?.iter().map(|n| (*n).min(1 << 30) as u32).collect();
    let longest =
        if args.is_none("max_size") { None } else { Some(args.int("max_size", 1)?.min(1 << 30) as u32) };
    Ok(Box::new(RandomShortestSize {
        sides,
        longest,
        filter: filter(args)?,
        antialias: args.flag("antialias")?,
    }))
}

impl RandomShortestSize {
    fn choose(&self, (width, height): Canvas, rng: &mut Rng) -> Canvas {
        let (w, h) = (f64::from(width), f64::from(height));
        let side = self.sides[rng.below(self.sides.len() as u64) as usize];
        let mut by = f64::from(side) / w.min(h);
        if let Some(longest) = self.longest {
            by = by.min(f64::from(longest) / w.max(h));
        }
        (((w * by) as u32).max(1), ((h * by) as u32).max(1))
    }
}

impl Transform for RandomShortestSize {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("RandomShortestSize", input)?;
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
