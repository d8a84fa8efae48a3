//! `RandomHorizontalFlip`: mirrors left and right, with a given probability.

use super::common::need_place;
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomHorizontalFlip",
    about: "mirror left and right with a given probability",
    params: &[Param { name: "p", python: "float", default: Some("0.5"), about: "probability of a flip" }],
    build,
};

#[derive(Debug)]
struct Flip {
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Flip { p: args.probability("p")? }))
}

impl Transform for Flip {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("RandomHorizontalFlip", input)?;
        Ok(input.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, _: Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        Ok(if rng.chance(self.p) { vec![Move::FlipX].into() } else { Moves::default() })
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if context.rng.chance(self.p) {
            image.flip_horizontal();
        }
        Ok(())
    }
}
