//! `CenterCrop`: the middle of the image, padded with black where the image is smaller.

use super::common::{fixed, need_place, round_even};
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "CenterCrop",
    about: "the middle of the image",
    params: &[Param {
        name: "size",
        python: "int | Sequence[int]",
        default: None,
        about: "size, or (height, width)",
    }],
    build,
};

#[derive(Debug)]
struct CenterCrop {
    height: u32,
    width: u32,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (height, width) = args.size("size")?;
    Ok(Box::new(CenterCrop { height, width }))
}

/// Returns where a crop of `crop` pixels starts on a side of `side` pixels. torchvision first pads a side that is too
/// short (the odd pixel goes to the end), then rounds half to even.
fn start(side: u32, crop: u32) -> i64 {
    if crop > side { -i64::from((crop - side) / 2) } else { round_even(f64::from(side - crop) / 2.0) }
}

impl Transform for CenterCrop {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("CenterCrop", input)?;
        Ok(input.with_size(fixed(self.height), fixed(self.width)))
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, _: &mut Rng) -> Result<Moves> {
        let (left, top) = (start(width, self.width), start(height, self.height));
        Ok(vec![Move::Crop { left, top, size: (self.width, self.height) }].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let (left, top) = (start(image.width(), self.width), start(image.height(), self.height));
        image.crop(left, top, self.width, self.height, [0; 4], context.scratch)
    }
}

#[cfg(test)]
mod tests;
