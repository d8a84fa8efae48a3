//! `Pad`: adds a border.

use super::{
    array::{
        MOST_AXES, is_array,
        sides::Fill,
        window::{Mode, Window},
        with_last,
    },
    common::{ANY_FILL, fixed, known, need_place},
};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, Error, FieldSpec, Image, Move, Moves, Param, Reach, Result,
    Rng, Transform, Value, memory,
};
use serde_json::Value as Json;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Pad",
    about: "add a border",
    params: &[
        Param {
            name: "padding",
            python: "int | Sequence[int] | Sequence[Sequence[int]]",
            default: None,
            about: "pixels added: all sides, (left/right, top/bottom) or (left, top, right, bottom); for arrays a pair for each \
                    of the last axes, ((before, after), ...), as numpy.pad has",
        },
        ANY_FILL,
        Param {
            name: "padding_mode",
            python: "str",
            default: Some("\"constant\""),
            about: "constant (fill), edge (repeat the last pixel), reflect or symmetric (mirror without or with it)",
        },
    ],
    build,
};

#[derive(Debug)]
struct Pad {
    widths: Widths,
    fill: Fill,
    mode: Mode,
}

/// The argument `padding`.
#[derive(Debug)]
enum Widths {
    /// Left, top, right and bottom of an image.
    Image([u32; 4]),
    /// Before and behind each of the last axes of an array.
    Array(Vec<(usize, usize)>),
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let mode = Mode::read(args, "padding_mode")?;
    let nested =
        args.value("padding").and_then(Json::as_array).filter(|list| list.iter().any(Json::is_array));
    let widths = match nested {
        Some(list) => Widths::Array(pairs(args, list)?),
        None => Widths::Image(sides(args, "padding")?),
    };
    Ok(Box::new(Pad { widths, fill: Fill::read("Pad", args)?, mode }))
}

/// Reads a pair for each axis.
fn pairs(args: &Args, list: &[Json]) -> Result<Vec<(usize, usize)>> {
    let wrong = || args.error("padding", "must be a pair (before, after) of whole numbers for each axis");
    let number = |x: &Json| x.as_u64().filter(|n| *n <= u64::from(u32::MAX)).map(|n| n as usize);
    let one = |x: &Json| match x.as_array().map(Vec::as_slice) {
        Some([before, after]) => number(before).zip(number(after)).ok_or_else(wrong),
        _ => Err(wrong()),
    };
    if list.len() > MOST_AXES { Err(wrong()) } else { list.iter().map(one).collect() }
}

/// Reads left, top, right and bottom as torchvision does.
pub(super) fn sides(args: &Args, name: &str) -> Result<[u32; 4]> {
    let given: Vec<u32> = args.ints(name, 0)?.iter().map(|n| (*n).min(65_535) as u32).collect();
    match given.as_slice() {
        [all] => Ok([*all; 4]),
        [x, y] => Ok([*x, *y, *x, *y]),
        [left, top, right, bottom] => Ok([*left, *top, *right, *bottom]),
        _ => Err(args.error(name, "must be one, two or four numbers")),
    }
}

impl Pad {
    /// The borders of an image.
    fn sides(&self) -> Result<[u32; 4]> {
        match &self.widths {
            Widths::Image(sides) => Ok(*sides),
            Widths::Array(_) => Err(Error::plan(
                "Pad",
                "padding has pairs, which are for arrays: images take (left, top, right, bottom)",
            )),
        }
    }

    /// The borders of an array.
    fn pairs(&self) -> Result<&[(usize, usize)]> {
        match &self.widths {
            Widths::Array(pairs) => Ok(pairs),
            Widths::Image(_) => Err(Error::plan(
                "Pad",
                "padding must be a pair (before, after) for each of the last axes of an array: ((1, 1), (2, 2))",
            )),
        }
    }

    /// Adds mirrored borders. They need pixels, so the image is rendered and copied.
    fn copy(&self, image: &mut Image, context: &mut Context<'_>) -> Result<()> {
        let (w, h, c) = (i64::from(image.width()), i64::from(image.height()), usize::from(image.channels()));
        let sides = self.sides()?;
        let [left, top, right, bottom] = sides.map(i64::from);
        let most = self.mode.most(w.min(h));
        if sides.iter().any(|s| i64::from(*s) > most) {
            return Err(Error::sample(format!("Pad cannot mirror {sides:?} pixels of an image of {w}x{h}",)));
        }
        // Sides are at most 2^32, so their product is below 2^67 with four channels.
        let bytes = (w + left + right) as u128 * (h + top + bottom) as u128 * c as u128;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        context.scratch.claim(bytes.saturating_add(image.bytes() as u64))?;
        let pixels = image.pixels_mut(context.scratch)?;
        let mut out = memory::with_capacity(bytes as usize)?;
        for y in -top..h + bottom {
            let row = self.mode.source(y, h) * w;
            for x in -left..w + right {
                let at = (row + self.mode.source(x, w)) as usize * c;
                out.extend_from_slice(&pixels[at..at + c]);
            }
        }
        *image = Image::raw((w + left + right) as u32, (h + top + bottom) as u32, c as u8, out)?
            .in_style_of(image);
        Ok(())
    }
}

impl Transform for Pad {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        self.fill.check(input)?;
        if is_array(input) {
            let pairs = self.pairs()?;
            let Some(outer) = input.shape.len().checked_sub(pairs.len()) else {
                let what =
                    format!("padding has {} pairs, but the field is {input}, with fewer axes", pairs.len());
                return Err(Error::plan("Pad", what));
            };
            let grow = |(dim, (before, after)): (&Dim, &(usize, usize))| match dim {
                Dim::Fixed(n) => Dim::Fixed(n + before + after),
                Dim::Any => Dim::Any,
            };
            let sizes: Vec<Dim> = input.shape[outer..].iter().zip(pairs).map(grow).collect();
            return Ok(with_last(input, &sizes));
        }
        need_place("Pad", input)?;
        let [left, top, right, bottom] = self.sides()?;
        let grow = |d: Dim, by: u32| known(d).map_or(Dim::Any, |n| fixed(n + by));
        Ok(match input.image_dims() {
            Some((h, w, _)) => input.with_size(grow(h, top + bottom), grow(w, left + right)),
            None => input.clone(),
        })
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, _: &mut Rng) -> Result<Moves> {
        // Boxes stay around what was there: mirrored borders show no new things.
        let [left, top, right, bottom] = self.sides()?;
        let size = (width + left + right, height + top + bottom);
        Ok(vec![Move::Crop { left: -i64::from(left), top: -i64::from(top), size }].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        if let Value::Tensor(tensor) = value {
            let pairs = self.pairs()?;
            let lengths = tensor.shape.iter().skip(tensor.shape.len().saturating_sub(pairs.len()));
            let sizes = lengths.zip(pairs).map(|(n, (before, after))| n + before + after).collect();
            let starts = pairs.iter().map(|(before, _)| -(*before as i64)).collect();
            let window = Window { name: "Pad", starts, sizes, mode: self.mode, fill: self.fill.array()? };
            return window.apply(tensor, context);
        }
        let image = value.image_mut()?;
        if !matches!(self.mode, Mode::Constant) {
            return self.copy(image, context);
        }
        let [left, top, right, bottom] = self.sides()?;
        let (width, height) = (image.width() + left + right, image.height() + top + bottom);
        image.crop(-i64::from(left), -i64::from(top), width, height, self.fill.image()?, context.scratch)
    }
}

#[cfg(test)]
mod tests;
