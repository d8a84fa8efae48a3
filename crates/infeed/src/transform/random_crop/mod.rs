//! `RandomCrop`: a rectangle anywhere, after optional padding.

use super::common::{FILL, fill, fixed, need_image};
use super::pad::sides;
use infeed_core::{Args, Context, Entry, Error, FieldSpec, Param, Result, Transform, Value};

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

impl Transform for RandomCrop {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_image("RandomCrop", input)?;
        Ok(input.with_size(fixed(self.height), fixed(self.width)))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let [mut left, mut top, mut right, mut bottom] = self.padding;
        if self.pad_if_needed {
            // As in torchvision: the missing pixels are added on both sides, so the crop may be anywhere among them.
            let lack = self.width.saturating_sub(image.width() + left + right);
            (left, right) = (left + lack, right + lack);
            let lack = self.height.saturating_sub(image.height() + top + bottom);
            (top, bottom) = (top + lack, bottom + lack);
        }
        let (width, height) = (image.width() + left + right, image.height() + top + bottom);
        if width < self.width || height < self.height {
            return Err(Error::sample(format!(
                "RandomCrop of {}x{} does not fit an image of {width}x{height}; pad_if_needed=True pads it",
                self.width, self.height
            )));
        }
        let y = context.rng.below(u64::from(height - self.height) + 1) as i64 - i64::from(top);
        let x = context.rng.below(u64::from(width - self.width) + 1) as i64 - i64::from(left);
        image.crop(x, y, self.width, self.height, self.fill, context.scratch)
    }
}

#[cfg(test)]
mod tests;
