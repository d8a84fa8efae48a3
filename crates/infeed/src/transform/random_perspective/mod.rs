//! `RandomPerspective`: a random perspective, with a given probability.

use super::pixels::{FILL, P, SAMPLING, fill, need_place_pixels, redraw, sampling, style};
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, FieldSpec, Image, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};
use infeed_pixels::{Perspective, Sampling, perspective, warp_perspective};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomPerspective",
    about: "move the corners inwards at random, with a given probability",
    params: &[
        Param {
            name: "distortion_scale",
            python: "float",
            default: Some("0.5"),
            about: "how far corners may move: 0 not at all, 1 to the middle",
        },
        P,
        Param { default: Some("\"bilinear\""), ..SAMPLING },
        FILL,
    ],
    build,
};

#[derive(Debug)]
struct RandomPerspective {
    distortion: f64,
    p: f64,
    sampling: Sampling,
    fill: [u8; 4],
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(RandomPerspective {
        distortion: args.probability("distortion_scale")?,
        p: args.probability("p")?,
        sampling: sampling(args)?,
        fill: fill(args)?,
    }))
}

/// Upper left, upper right, lower right, lower left.
type Corners = [(f64, f64); 4];

impl RandomPerspective {
    /// Draws the new corners in torchvision's order.
    fn choose(&self, width: u32, height: u32, rng: &mut Rng) -> Corners {
        let bound = |side: u32| (self.distortion * f64::from(side / 2)) as u64 + 1;
        let (bw, bh) = (bound(width), bound(height));
        let mut corner = |right: bool, low: bool| {
            let (x, y) = (rng.below(bw), rng.below(bh));
            let x = if right { u64::from(width) - bw + x } else { x };
            let y = if low { u64::from(height) - bh + y } else { y };
            (x as f64, y as f64)
        };
        [corner(false, false), corner(true, false), corner(true, true), corner(false, true)]
    }

    fn warp(&self, image: &mut Image, to: Corners, context: &mut Context<'_>) -> Result<()> {
        let Some(matrix) = matrix(image.width(), image.height(), to) else { return Ok(()) };
        let width = image.width() as usize;
        let (sampling, fill) = style(image, self.sampling, self.fill);
        redraw(image, context, |picture, out| {
            warp_perspective(picture, &matrix, sampling, fill, width, out);
        })
    }
}

/// Returns where the pixels of the result come from. Coinciding corners, as in images of one row, have no perspective: the
/// image stays unchanged.
fn matrix(width: u32, height: u32, to: Corners) -> Option<Perspective> {
    let (right, low) = (f64::from(width) - 1.0, f64::from(height) - 1.0);
    perspective([(0.0, 0.0), (right, 0.0), (right, low), (0.0, low)], to)
}

impl Transform for RandomPerspective {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place_pixels("RandomPerspective", input)?;
        Ok(input.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        if !rng.chance(self.p) {
            return Ok(Moves::default());
        }
        let matrix = matrix(width, height, self.choose(width, height, rng));
        Ok(matrix.map_or_else(Moves::default, |from| vec![Move::Perspective { from }].into()))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if !context.rng.chance(self.p) {
            return Ok(());
        }
        let to = self.choose(image.width(), image.height(), &mut context.rng);
        self.warp(image, to, context)
    }
}

#[cfg(test)]
mod tests;
