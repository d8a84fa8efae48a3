//! `RandomApply`: applies transforms one after the other, or none of them.

use super::entries;
use crate::families;
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, Error, FieldSpec, Moves, Param, Reach, Result, Rng, Transform, Value,
};
use serde_json::Value as Json;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomApply",
    about: "apply transforms one after the other, or none of them, with a given probability",
    params: &[
        Param {
            name: "transforms",
            python: "Sequence[Transform]",
            default: None,
            about: "the transforms; they keep the shape and type of a field",
        },
        Param { name: "p", python: "float", default: Some("0.5"), about: "probability of applying them" },
    ],
    build,
};

#[derive(Debug)]
struct RandomApply {
    transforms: Vec<(&'static str, Box<dyn Transform>)>,
    p: f64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let wrong = || {
        args.error(
            "transforms",
            "must be a list of transforms of infeed, for example [ColorJitter(0.4, 0.4)]; Python functions go into map()",
        )
    };
    let known = entries();
    let list = args.value("transforms").and_then(Json::as_array).filter(|list| !list.is_empty());
    let transforms = list
        .ok_or_else(wrong)?
        .iter()
        .map(|one| {
            let name = one.get("name").and_then(Json::as_str).ok_or_else(wrong)?;
            let given = one.get("args").and_then(Json::as_object).ok_or_else(wrong)?;
            let entry = families::find(&known, name, "transform")?;
            if entry.name == ENTRY.name {
                return Err(Error::argument(
                    "RandomApply: transforms has a RandomApply in it; multiply their p",
                ));
            }
            Ok((entry.name, entry.make(given)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let p = args.probability("p")?;
    let one = RandomApply { transforms, p };
    match one.transforms.iter().find(|(_, transform)| transform.reach() == Reach::Scene) {
        Some((name, _)) => Err(Error::argument(format!(
            "RandomApply: {name} cannot be one of the transforms, because it chooses by boxes; it has a probability of its own"
        ))),
        None => Ok(Box::new(one)),
    }
}

impl RandomApply {
    /// The transforms with random numbers of their own, or none of them.
    fn chosen(&self, rng: &mut Rng) -> impl Iterator<Item = (&dyn Transform, Rng)> {
        let chosen = rng.chance(self.p);
        let key = rng.next_u64();
        let all = self.transforms.iter().take(if chosen { usize::MAX } else { 0 });
        all.enumerate().map(move |(place, (_, one))| (&**one, Rng::at(key, 0, 0, place as u64)))
    }
}

impl Transform for RandomApply {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        for (name, transform) in &self.transforms {
            let after = transform.spec(input)?;
            if after != *input {
                return Err(Error::plan(
                    "map RandomApply",
                    format!(
                        "{name} makes {after} of {input}, and samples would differ: put it outside of RandomApply"
                    ),
                ));
            }
            transform.check_fields(1)?;
        }
        Ok(input.clone())
    }

    fn reach(&self) -> Reach {
        let reaches = |reach: Reach| self.transforms.iter().any(|(_, one)| one.reach() == reach);
        match () {
            () if reaches(Reach::Alone) => Reach::Alone,
            () if reaches(Reach::Places) => Reach::Places,
            () => Reach::Values,
        }
    }

    fn moves(&self, mut canvas: Canvas, boxes: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let mut all = Moves::default();
        for (transform, mut rng) in self.chosen(rng) {
            let moves = transform.moves(canvas, boxes, &mut rng)?;
            canvas = moves.list.iter().fold(canvas, |canvas, one| one.canvas(canvas));
            all.list.extend(moves.list);
        }
        Ok(all)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let mut rng = context.rng.clone();
        for (transform, rng) in self.chosen(&mut rng) {
            transform.apply(value, &mut Context { rng, scratch: context.scratch })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
