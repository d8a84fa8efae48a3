//! `RandomCrop`: a rectangle or a box anywhere, after optional padding.

use super::{
    array::{
        is_array, same_last,
        sides::{Fill, Sides},
        window::{Mode, Window},
        with_last,
    },
    common::{ANY_FILL, fixed, need_place},
    pad::sides,
};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, Error, FieldSpec, Move, Moves, Param, Reach, Result, Rng,
    Tensor, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomCrop",
    about: "a rectangle of this size anywhere in the image, after optional padding; a box over the last axes of an array",
    params: &[
        Param {
            name: "size",
            python: "int | Sequence[int]",
            default: None,
            about: "size, or (height, width); for arrays the lengths of the last axes: (64, 64, 64)",
        },
        Param {
            name: "padding",
            python: "int | Sequence[int] | None",
            default: Some("null"),
            about: "pixels added: all sides, (left/right, top/bottom) or (left, top, right, bottom); for arrays one number",
        },
        Param {
            name: "pad_if_needed",
            python: "bool",
            default: Some("false"),
            about: "pad images and arrays that are smaller than the crop instead of refusing them",
        },
        ANY_FILL,
    ],
    build,
};

#[derive(Debug)]
struct RandomCrop {
    size: Sides,
    padding: [u32; 4],
    pad_if_needed: bool,
    fill: Fill,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let padding = if args.is_none("padding") { [0; 4] } else { sides(args, "padding")? };
    Ok(Box::new(RandomCrop {
        size: Sides::read("RandomCrop", args, "size")?,
        padding,
        pad_if_needed: args.flag("pad_if_needed")?,
        fill: Fill::read("RandomCrop", args)?,
    }))
}

impl RandomCrop {
    /// Draws the upper left corner.
    fn choose(&self, width: u32, height: u32, rng: &mut Rng) -> Result<(i64, i64)> {
        let (own_height, own_width) = self.size.image()?;
        let [mut left, mut top, mut right, mut bottom] = self.padding;
        if self.pad_if_needed {
            // As in torchvision: the missing pixels are added on both sides, so the crop may be anywhere among them.
            let lack = own_width.saturating_sub(width + left + right);
            (left, right) = (left + lack, right + lack);
            let lack = own_height.saturating_sub(height + top + bottom);
            (top, bottom) = (top + lack, bottom + lack);
        }
        let (width, height) = (width + left + right, height + top + bottom);
        if width < own_width || height < own_height {
            return Err(Error::sample(format!(
                "RandomCrop of {own_width}x{own_height} does not fit an image of {width}x{height}; pad_if_needed=True pads \
                 it"
            )));
        }
        let y = rng.below(u64::from(height - own_height) + 1) as i64 - i64::from(top);
        let x = rng.below(u64::from(width - own_width) + 1) as i64 - i64::from(left);
        Ok((x, y))
    }

    /// Draws a box of an array, axis by axis: of an image and an array of the same size the same part.
    fn choose_box(&self, tensor: &Tensor, rng: &mut Rng) -> Result<Vec<i64>> {
        let sizes = self.size.array()?;
        let outer = tensor.shape.len().saturating_sub(sizes.len());
        let one = |(len, size): (&usize, &usize)| {
            let mut pad = self.padding[0] as usize;
            if self.pad_if_needed {
                pad += size.saturating_sub(len + 2 * pad);
            }
            let room = (len + 2 * pad).checked_sub(*size).ok_or_else(|| {
                Error::sample(format!(
                    "RandomCrop of {sizes:?} does not fit an array of {:?}; pad_if_needed=True pads it",
                    tensor.shape
                ))
            })?;
            Ok(rng.below(room as u64 + 1) as i64 - pad as i64)
        };
        tensor.shape[outer..].iter().zip(sizes).map(one).collect()
    }
}

impl Transform for RandomCrop {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        self.fill.check(input)?;
        if is_array(input) {
            if self.padding.iter().any(|n| *n != self.padding[0]) {
                return Err(Error::plan("RandomCrop", "padding must be one number for arrays"));
            }
            self.size.fit(input, self.padding[0] == 0 && !self.pad_if_needed)?;
            let sizes: Vec<Dim> = self.size.array()?.iter().map(|n| Dim::Fixed(*n)).collect();
            return Ok(with_last(input, &sizes));
        }
        need_place("RandomCrop", input)?;
        let (height, width) = self.size.image()?;
        Ok(input.with_size(fixed(height), fixed(width)))
    }

    fn check_together(&self, fields: &[(&str, &FieldSpec)]) -> Result<()> {
        let count = self.size.array().map_or(2, <[usize]>::len);
        same_last("RandomCrop", fields, count)
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let (left, top) = self.choose(width, height, rng)?;
        let (height, width) = self.size.image()?;
        Ok(vec![Move::Crop { left, top, size: (width, height) }].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        if let Value::Tensor(tensor) = value {
            let starts = self.choose_box(tensor, &mut context.rng)?;
            let (sizes, fill) = (self.size.array()?.to_vec(), self.fill.array()?);
            let window = Window { name: "RandomCrop", starts, sizes, mode: Mode::Constant, fill };
            return window.apply(tensor, context);
        }
        let image = value.image_mut()?;
        let (left, top) = self.choose(image.width(), image.height(), &mut context.rng)?;
        let (height, width) = self.size.image()?;
        image.crop(left, top, width, height, self.fill.image()?, context.scratch)
    }
}

#[cfg(test)]
mod tests;
