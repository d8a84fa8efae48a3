//! `CenterCrop`: the middle of an image or an array, padded with black or zeros where it is smaller.

use super::{
    array::{
        is_array,
        sides::Sides,
        window::{Mode, Window},
        with_last,
    },
    common::{fixed, need_place, round_even},
};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "CenterCrop",
    about: "the middle of the image, or of the last axes of an array",
    params: &[Param {
        name: "size",
        python: "int | Sequence[int]",
        default: None,
        about: "size, or (height, width); for arrays the lengths of the last axes: (64, 64, 64)",
    }],
    build,
};

#[derive(Debug)]
struct CenterCrop {
    size: Sides,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(CenterCrop { size: Sides::read("CenterCrop", args, "size")? }))
}

/// Returns where a crop of `crop` pixels starts on a side of `side` pixels. torchvision first pads a side that is too
/// short (the odd pixel goes to the end), then rounds half to even.
fn start(side: u32, crop: u32) -> i64 {
    if crop > side { -i64::from((crop - side) / 2) } else { round_even(f64::from(side - crop) / 2.0) }
}

/// A length of an axis. Arrays that are longer than 2^32 along an axis are in no sample.
fn long(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Transform for CenterCrop {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        if is_array(input) {
            self.size.fit(input, false)?;
            let sizes: Vec<Dim> = self.size.array()?.iter().map(|n| Dim::Fixed(*n)).collect();
            return Ok(with_last(input, &sizes));
        }
        need_place("CenterCrop", input)?;
        let (height, width) = self.size.image()?;
        Ok(input.with_size(fixed(height), fixed(width)))
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, _: &mut Rng) -> Result<Moves> {
        let (own_height, own_width) = self.size.image()?;
        let (left, top) = (start(width, own_width), start(height, own_height));
        Ok(vec![Move::Crop { left, top, size: (own_width, own_height) }].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        if let Value::Tensor(tensor) = value {
            let sizes = self.size.array()?.to_vec();
            let lengths = tensor.shape.iter().skip(tensor.shape.len().saturating_sub(sizes.len()));
            let starts = lengths.zip(&sizes).map(|(n, size)| start(long(*n), long(*size))).collect();
            let window = Window { name: "CenterCrop", starts, sizes, mode: Mode::Constant, fill: 0.0 };
            return window.apply(tensor, context);
        }
        let image = value.image_mut()?;
        let (height, width) = self.size.image()?;
        let (left, top) = (start(image.width(), width), start(image.height(), height));
        image.crop(left, top, width, height, [0; 4], context.scratch)
    }
}

#[cfg(test)]
mod tests;
