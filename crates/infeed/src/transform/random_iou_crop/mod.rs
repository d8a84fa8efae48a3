//! `RandomIoUCrop`: a crop that overlaps with some box by at least a drawn share, as SSD is trained.

use super::common::need_place;
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, Error, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomIoUCrop",
    about: "a crop that overlaps with a box by a random share, as for SSD; boxes whose middle is outside leave",
    params: &[
        Param {
            name: "min_scale",
            python: "float",
            default: Some("0.3"),
            about: "smallest share of width and height",
        },
        Param {
            name: "max_scale",
            python: "float",
            default: Some("1.0"),
            about: "largest share of width and height",
        },
        Param {
            name: "min_aspect_ratio",
            python: "float",
            default: Some("0.5"),
            about: "smallest width / height",
        },
        Param {
            name: "max_aspect_ratio",
            python: "float",
            default: Some("2.0"),
            about: "largest width / height",
        },
        Param {
            name: "sampler_options",
            python: "Sequence[float] | None",
            default: Some("null"),
            about: "overlaps to draw from, by default 0, 0.1, 0.3, 0.5, 0.7, 0.9 and 1; 1 leaves the image as it is",
        },
        Param {
            name: "trials",
            python: "int",
            default: Some("40"),
            about: "crops to try for a drawn overlap",
        },
    ],
    build,
};

/// Overlaps that are drawn before the image stays as it is: with boxes that no crop can satisfy the drawing would not end.
const ROUNDS: usize = 100;

#[derive(Debug)]
struct RandomIoUCrop {
    scale: (f64, f64),
    ratio: (f64, f64),
    options: Vec<f64>,
    trials: i64,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let scale = (args.float("min_scale")?, args.float("max_scale")?);
    if !(0.0 < scale.0 && scale.0 <= scale.1 && scale.1 <= 1.0) {
        return Err(args.error("min_scale", "and max_scale must be 0 < low <= high <= 1"));
    }
    let ratio = (args.float("min_aspect_ratio")?, args.float("max_aspect_ratio")?);
    if !(0.0 < ratio.0 && ratio.0 <= ratio.1) {
        return Err(args.error("min_aspect_ratio", "and max_aspect_ratio must be 0 < low <= high"));
    }
    let options = if args.is_none("sampler_options") {
        vec![0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    } else {
        args.floats("sampler_options")?
    };
    if options.is_empty() {
        return Err(args.error("sampler_options", "must not be empty"));
    }
    Ok(Box::new(RandomIoUCrop { scale, ratio, options, trials: args.int("trials", 1)? }))
}

/// A rectangle: left, top, right, bottom.
type Corners = [f64; 4];

/// Returns the overlap of two boxes: shared area by covered area.
fn overlap(a: Corners, b: Corners) -> f64 {
    let area = |[l, t, r, b]: Corners| (r - l).max(0.0) * (b - t).max(0.0);
    let shared = area([a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]);
    let covered = area(a) + area(b) - shared;
    if covered > 0.0 { shared / covered } else { 0.0 }
}

impl RandomIoUCrop {
    /// One attempt: a crop, and which boxes have their middle outside of it.
    fn attempt(
        &self,
        (width, height): Canvas,
        boxes: &Boxes,
        least: f64,
        rng: &mut Rng,
    ) -> Option<(Move, Vec<bool>)> {
        let (w, h) = (f64::from(width), f64::from(height));
        let new_w = (w * rng.uniform(self.scale.0, self.scale.1)) as u32;
        let new_h = (h * rng.uniform(self.scale.0, self.scale.1)) as u32;
        let shape = f64::from(new_w) / f64::from(new_h);
        if new_w == 0 || new_h == 0 || !(self.ratio.0..=self.ratio.1).contains(&shape) {
            return None;
        }
        let left = (f64::from(width - new_w) * rng.unit()) as u32;
        let top = (f64::from(height - new_h) * rng.unit()) as u32;
        let (l, t) = (f64::from(left), f64::from(top));
        let crop = [l, t, l + f64::from(new_w), t + f64::from(new_h)];
        let inside = |[a, b, c, d]: &Corners| {
            let (x, y) = (0.5 * (a + c), 0.5 * (b + d));
            crop[0] < x && x < crop[2] && crop[1] < y && y < crop[3]
        };
        let gone: Vec<bool> = boxes.corners().map(|c| !c.is_some_and(|c| inside(&c))).collect();
        let best = boxes.corners().flatten().filter(inside).map(|c| overlap(c, crop)).reduce(f64::max)?;
        (best >= least)
            .then_some((Move::Crop { left: left.into(), top: top.into(), size: (new_w, new_h) }, gone))
    }
}

impl Transform for RandomIoUCrop {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("RandomIoUCrop", input)?;
        Ok(input.with_size(infeed_core::Dim::Any, infeed_core::Dim::Any))
    }

    fn reach(&self) -> Reach {
        Reach::Scene
    }

    fn moves(&self, canvas: Canvas, boxes: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let Some(boxes) = boxes.filter(|b| b.corners().flatten().next().is_some()) else {
            return Ok(Moves::default());
        };
        for _ in 0..ROUNDS {
            let least = self.options[rng.below(self.options.len() as u64) as usize];
            if least >= 1.0 {
                return Ok(Moves::default());
            }
            let found = (0..self.trials).find_map(|_| self.attempt(canvas, boxes, least, rng));
            if let Some((crop, gone)) = found {
                return Ok(Moves { list: vec![crop], gone });
            }
        }
        Ok(Moves::default())
    }

    fn apply(&self, _: &mut Value, _: &mut Context<'_>) -> Result<()> {
        Err(Error::sample("RandomIoUCrop needs boxes: use it in a pipeline that decodes them"))
    }
}

#[cfg(test)]
mod tests;
