//! `RandomRotation`: rotates by a random angle.

use super::pixels::{FILL, SAMPLING, degrees, fill, need_pixels, resized, sampling, warp};
use infeed_core::{Args, Context, Dim, Entry, FieldSpec, Image, Param, Result, Transform, Value};
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
        resized(image, (to.width as u32, to.height as u32), context, |picture, out| {
            warp_affine(picture, &to.matrix, self.sampling, self.fill, to.width, out);
        })
    }
}

impl Transform for RandomRotation {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_pixels("RandomRotation", input)?;
        Ok(if self.rotate.expand { input.with_size(Dim::Any, Dim::Any) } else { input.clone() })
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let angle = context.rng.uniform(self.degrees.0, self.degrees.1);
        self.rotate.apply(value.image_mut()?, angle, context)
    }
}

#[cfg(test)]
mod tests;
