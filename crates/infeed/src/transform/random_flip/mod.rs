//! `RandomFlip`: mirrors axes of an array, each with a given probability.

use super::array::{axes, axis, need_array, strided::Strided, tensor};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Rng, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomFlip",
    about: "mirror axes of an array, each with a given probability; several fields are mirrored alike",
    params: &[
        Param {
            name: "axes",
            python: "int | Sequence[int]",
            default: Some("[-1]"),
            about: "the axes; from the end, so that an image with channels and its mask agree",
        },
        Param { name: "p", python: "float", default: Some("0.5"), about: "probability for each axis" },
    ],
    build,
};

#[derive(Debug)]
struct RandomFlip {
    axes: Vec<i64>,
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let axes = axes(args, "axes")?;
    if axes.is_empty() {
        return Err(args.error("axes", "must name at least one axis"));
    }
    Ok(Box::new(RandomFlip { axes, p: args.probability("p")? }))
}

impl RandomFlip {
    fn chosen(&self, rank: usize, rng: &mut Rng) -> Result<Vec<usize>> {
        let mut out = vec![];
        for one in &self.axes {
            let at = axis("RandomFlip", "one of axes", *one, rank)?;
            if rng.chance(self.p) {
                out.push(at);
            }
        }
        Ok(out)
    }
}

impl Transform for RandomFlip {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("RandomFlip", input)?;
        for one in &self.axes {
            axis("RandomFlip", "one of axes", *one, input.shape.len())?;
        }
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let mut view = Strided::of(&tensor.shape);
        for at in self.chosen(tensor.shape.len(), &mut context.rng)? {
            view.flip(at);
        }
        view.apply(tensor, context)
    }
}
