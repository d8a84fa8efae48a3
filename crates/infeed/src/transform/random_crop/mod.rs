//! `RandomCrop`: a rectangle anywhere, after optional padding.

use super::common::{FILL, fill, fixed, need_place};
use super::pad::sides;
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, Error, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomCrop",
    about: "a rectangle of this size anywhere in the image, after optional padding",
    params: &[
        Param {
            name: "size",
            python: "int | Sequence[int]",
            default: None,
            about: "size, or (height, width)",
        },
        Param {
            name: "padding",
            python: "int | Sequence[int] | None",
            default: Some("null"),
            about: "pixels added: all sides, (left/right, top/bottom) or (left, top, right, bottom)",
        },
        Param {
            name: "pad_if_needed",
            python: "bool",
            default: Some("false"),
            about: "pad images that are smaller than the crop instead of refusing them",
        },
        FILL,
    ],
    build,
};

#[derive(Debug)]
struct RandomCrop {
    height: u32,
    width: u32,
    padding: [u32; 4],
    pad_if_needed: bool,
    fill: [u8; 4],
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (height, width) = args.size("size")?;
    let padding = if args.is_none("padding") { [0; 4] } else { sides(args, "padding")? };
    Ok(Box::new(RandomCrop {
        height,
        width,
        padding,
        pad_if_needed: args.flag("pad_if_needed")?,
        fill: fill(args)?,
    }))
}

impl RandomCrop {
    /// Draws the upper left corner.
    fn choose(&self, width: u32, height: u32, rng: &mut Rng) -> Result<(i64, i64)> {
        let [mut left, mut top, mut right, mut bottom] = self.padding;
        if self.pad_if_needed {
            // As in torchvision: the missing pixels are added on both sides, so the crop may be anywhere among them.
            let lack = self.width.saturating_sub(width + left + right);
            (left, right) = (left + lack, right + lack);
            let lack = self.height.saturating_sub(height + top + bottom);
            (top, bottom) = (top + lack, bottom + lack);
        }
        let (width, height) = (width + left + right, height + top + bottom);
        if width < self.width || height < self.height {
            return Err(Error::sample(format!(
                "RandomCrop of {}x{} does not fit an image of {width}x{height}; pad_if_needed=True pads it",
                self.width, self.height
            )));
        }
        let y = rng.below(u64::from(height - self.height) + 1) as i64 - i64::from(top);
        let x = rng.below(u64::from(width - self.width) + 1) as i64 - i64::from(left);
        Ok((x, y))
    }
}

impl Transform for RandomCrop {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("RandomCrop", input)?;
        Ok(input.with_size(fixed(self.height), fixed(self.width)))
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let (left, top) = self.choose(width, height, rng)?;
        Ok(vec![Move::Crop { left, top, size: (self.width, self.height) }].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let (left, top) = self.choose(image.width(), image.height(), &mut context.rng)?;
        image.crop(left, top, self.width, self.height, self.fill, context.scratch)
    }
}

#[cfg(test)]
mod tests;
