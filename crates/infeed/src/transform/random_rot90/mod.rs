//! `RandomRot90`: turns an array by 0, 90, 180 or 270 degrees.

use super::array::{MOST_AXES, axis, need_array, strided::Strided, tensor};
use infeed_core::{Args, Context, Dim, Entry, Error, FieldSpec, Param, Result, Transform, Value};
use serde_json::Value as Json;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomRot90",
    about: "turn an array by 0, 90, 180 or 270 degrees in the plane of two axes; several fields are turned alike",
    params: &[Param {
        name: "axes",
        python: "Sequence[int] | Sequence[Sequence[int]]",
        default: Some("[-2, -1]"),
        about: "two axes, or a list of pairs that are turned one after the other, each by an angle of its own",
    }],
    build,
};

#[derive(Debug)]
struct RandomRot90 {
    planes: Vec<(i64, i64)>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let wrong = || args.error("axes", "must be two different axes, or a list of such pairs");
    let pair = |list: &[Json]| match list {
        [a, b] => a.as_i64().zip(b.as_i64()).filter(|(a, b)| a != b).ok_or_else(wrong),
        _ => Err(wrong()),
    };
    let list = args.value("axes").and_then(Json::as_array).ok_or_else(wrong)?;
    let planes = if list.iter().all(Json::is_array) {
        list.iter().map(|one| pair(one.as_array().map_or(&[], Vec::as_slice))).collect::<Result<Vec<_>>>()?
    } else {
        vec![pair(list)?]
    };
    if planes.is_empty() || planes.len() > MOST_AXES {
        return Err(wrong());
    }
    Ok(Box::new(RandomRot90 { planes }))
}

impl RandomRot90 {
    fn planes(&self, rank: usize) -> Result<Vec<(usize, usize)>> {
        let one = |(a, b): &(i64, i64)| {
            let find = |at: i64| axis("RandomRot90", "one of axes", at, rank);
            let (first, second) = (find(*a)?, find(*b)?);
            if first == second {
                return Err(Error::plan("RandomRot90", format!("axes {a} and {b} are the same one")));
            }
            Ok((first, second))
        };
        self.planes.iter().map(one).collect()
    }
}

impl Transform for RandomRot90 {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("RandomRot90", input)?;
        let mut out = input.clone();
        for (first, second) in self.planes(input.shape.len())? {
            match (out.shape[first], out.shape[second]) {
                (Dim::Fixed(a), Dim::Fixed(b)) if a != b => {
                    return Err(Error::plan(
                        "RandomRot90",
                        format!(
                            "turns axes of {a} and {b} elements, and samples would differ in shape: crop them to one \
                             length first"
                        ),
                    ));
                }
                (Dim::Fixed(_), Dim::Fixed(_)) => {}
                _ => (out.shape[first], out.shape[second]) = (Dim::Any, Dim::Any),
            }
        }
        Ok(out)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let mut view = Strided::of(&tensor.shape);
        for (first, second) in self.planes(tensor.shape.len())? {
            view.turn(context.rng.below(4), first, second);
        }
        view.apply(tensor, context)
    }
}
