//! `Transpose`: the axes of an array in another order.

use super::array::{axes, axis, need_array, strided::Strided, tensor};
use infeed_core::{Args, Context, Entry, Error, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Transpose",
    about: "the axes of an array in another order",
    params: &[Param {
        name: "axes",
        python: "Sequence[int]",
        default: None,
        about: "for each axis of the result, the axis it was before: (2, 0, 1) makes channels first of channels last",
    }],
    build,
};

#[derive(Debug)]
struct Transpose {
    axes: Vec<i64>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Transpose { axes: axes(args, "axes")? }))
}

impl Transpose {
    fn order(&self, rank: usize) -> Result<Vec<usize>> {
        let order: Vec<usize> =
            self.axes.iter().map(|a| axis("Transpose", "one of axes", *a, rank)).collect::<Result<_>>()?;
        let mut seen = order.clone();
        seen.sort_unstable();
        if seen != (0..rank).collect::<Vec<_>>() {
            let what = format!("axes are {:?}, but must name each of the {rank} axes once", self.axes);
            return Err(Error::plan("Transpose", what));
        }
        Ok(order)
    }
}

impl Transform for Transpose {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("Transpose", input)?;
        let order = self.order(input.shape.len())?;
        Ok(FieldSpec::array(input.dtype, order.iter().map(|at| input.shape[*at]).collect()))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let mut view = Strided::of(&tensor.shape);
        view.permute(&self.order(tensor.shape.len())?);
        view.apply(tensor, context)
    }
}
