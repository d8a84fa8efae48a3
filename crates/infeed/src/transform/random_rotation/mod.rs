//! `RandomRotation`: rotates by a random angle.

use super::pixels::{FILL, SAMPLING, degrees, fill, need_place_pixels, resized, sampling, style, warp};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, FieldSpec, Image, Move, Moves, Param, Reach, Result, Rng,
    Transform, Value,
};
use infeed_pixels::{Sampling, Turn, rotation, turn, warp_affine};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomRotation",
    about: "turn by a random angle, counter-clockwise",
    params: &[
        Param {
            name: "degrees",
            python: "float | Sequence[float]",
            default: None,
            about: "x for angles in -x..x, or (low, high)",
        },
        SAMPLING,
        Param {
            name: "expand",
            python: "bool",
            default: Some("false"),
            about: "make the result large enough for all of the image",
        },
        CENTER,
        FILL,
    ],
    build,
};

/// The `center` parameter.
pub(super) const CENTER: Param = Param {
    name: "center",
    python: "Sequence[float] | None",
    default: Some("null"),
    about: "point (x, y) that stays where it is; the middle of the image unless given",
};

/// Reads [`CENTER`].
pub(super) fn center(args: &Args) -> Result<Option<(f64, f64)>> {
    if args.is_none("center") { Ok(None) } else { args.pair("center").map(Some) }
}

#[derive(Debug)]
struct RandomRotation {
    degrees: (f64, f64),
    rotate: Rotate,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let range = degrees(args, "degrees", &[2])?;
    let rotate = Rotate {
        sampling: sampling(args)?,
        expand: args.flag("expand")?,
        center: center(args)?,
        fill: fill(args)?,
    };
    Ok(Box::new(RandomRotation { degrees: (range[0], range[1]), rotate }))
}

/// The settings of a rotation, without its angle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rotate {
    pub(super) sampling: Sampling,
    pub(super) expand: bool,
    pub(super) center: Option<(f64, f64)>,
    pub(super) fill: [u8; 4],
}

impl Rotate {
    /// Returns where [`Rotate::apply`] moves pixels to.
    fn moves(&self, (width, height): Canvas, angle: f64) -> Moves {
        let (w, h) = (f64::from(width), f64::from(height));
        let turned = self.expand || width == height;
        let right = match angle.rem_euclid(360.0) {
            _ if self.center.is_some() => None,
            0.0 => return Moves::default(),
            180.0 => Some(([-1.0, 0.0, w, 0.0, -1.0, h], (width, height))),
            90.0 if turned => Some(([0.0, -1.0, w, 1.0, 0.0, 0.0], (height, width))),
            270.0 if turned => Some(([0.0, 1.0, 0.0, -1.0, 0.0, h], (height, width))),
            _ => None,
        };
        let (from, size) = right.unwrap_or_else(|| {
            let to = rotation(width as usize, height as usize, angle, self.expand, self.center);
            (to.matrix, (to.width as u32, to.height as u32))
        });
        vec![Move::Affine { from, size }].into()
    }

    /// Rotates by `angle` degrees. As in Pillow, right angles move whole pixels if the result has their shape.
    pub(super) fn apply(&self, image: &mut Image, angle: f64, context: &mut Context<'_>) -> Result<()> {
        let (width, height) = (image.width(), image.height());
        if self.center.is_none() {
            let right = match angle.rem_euclid(360.0) {
                0.0 => return Ok(()),
                180.0 => Some(Turn::Half),
                90.0 => Some(Turn::Quarter),
                270.0 => Some(Turn::ThreeQuarters),
                _ => None,
            };
            match right {
                Some(Turn::Half) => {
                    return resized(image, (width, height), context, |picture, out| {
                        turn(picture, Turn::Half, out)
                    });
                }
                Some(by) if self.expand || width == height => {
                    return resized(image, (height, width), context, |picture, out| turn(picture, by, out));
                }
                _ => {}
            }
        }
        let to = rotation(width as usize, height as usize, angle, self.expand, self.center);
        if !self.expand {
            return warp(image, &to.matrix, self.sampling, self.fill, context);
        }
        let (sampling, fill) = style(image, self.sampling, self.fill);
        resized(image, (to.width as u32, to.height as u32), context, |picture, out| {
            warp_affine(picture, &to.matrix, sampling, fill, to.width, out);
        })
    }
}

impl Transform for RandomRotation {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place_pixels("RandomRotation", input)?;
        Ok(if self.rotate.expand { input.with_size(Dim::Any, Dim::Any) } else { input.clone() })
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, size: Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let angle = rng.uniform(self.degrees.0, self.degrees.1);
        Ok(self.rotate.moves(size, angle))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let angle = context.rng.uniform(self.degrees.0, self.degrees.1);
        self.rotate.apply(value.image_mut()?, angle, context)
    }
}

#[cfg(test)]
mod tests;
