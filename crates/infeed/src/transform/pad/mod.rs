//! `Pad`: adds a border.

use super::common::{FILL, fill, fixed, known, need_place};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, Error, FieldSpec, Image, Move, Moves, Param, Reach, Result,
    Rng, Transform, Value, memory,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Pad",
    about: "add a border",
    params: &[
        Param {
            name: "padding",
            python: "int | Sequence[int]",
            default: None,
            about: "pixels added: all sides, (left/right, top/bottom) or (left, top, right, bottom)",
        },
        FILL,
        Param {
            name: "padding_mode",
            python: "str",
            default: Some("\"constant\""),
            about: "constant (fill), edge (repeat the last pixel), reflect or symmetric (mirror without or with it)",
        },
    ],
    build,
};

#[derive(Debug, Clone, Copy)]
enum Mode {
    Constant,
    Edge,
    Reflect,
    Symmetric,
}

#[derive(Debug)]
struct Pad {
    sides: [u32; 4],
    fill: [u8; 4],
    mode: Mode,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let mode = match args.text("padding_mode")? {
        "constant" => Mode::Constant,
        "edge" => Mode::Edge,
        "reflect" => Mode::Reflect,
        "symmetric" => Mode::Symmetric,
        _ => return Err(args.error("padding_mode", "must be constant, edge, reflect or symmetric")),
    };
    Ok(Box::new(Pad { sides: sides(args, "padding")?, fill: fill(args)?, mode }))
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

/// Returns the source pixel for position `at` on a side of `len` pixels.
fn source(at: i64, len: i64, mode: Mode) -> i64 {
    match mode {
        Mode::Constant | Mode::Edge => at.clamp(0, len - 1),
        Mode::Reflect if at < 0 => -at,
        Mode::Reflect if at >= len => 2 * (len - 1) - at,
        Mode::Symmetric if at < 0 => -1 - at,
        Mode::Symmetric if at >= len => 2 * len - 1 - at,
        Mode::Reflect | Mode::Symmetric => at,
    }
}

impl Pad {
    /// Adds mirrored borders. They need pixels, so the image is rendered and copied.
    fn copy(&self, image: &mut Image, context: &mut Context<'_>) -> Result<()> {
        let (w, h, c) = (i64::from(image.width()), i64::from(image.height()), usize::from(image.channels()));
        let [left, top, right, bottom] = self.sides.map(i64::from);
        let most = match self.mode {
            Mode::Reflect => w.min(h) - 1,
            Mode::Symmetric => w.min(h),
            Mode::Constant | Mode::Edge => i64::MAX,
        };
        if self.sides.iter().any(|s| i64::from(*s) > most) {
            return Err(Error::sample(format!(
                "Pad cannot mirror {:?} pixels of an image of {w}x{h}",
                self.sides
            )));
        }
        // Sides are at most 2^32, so their product is below 2^67 with four channels.
        let bytes = (w + left + right) as u128 * (h + top + bottom) as u128 * c as u128;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        context.scratch.claim(bytes.saturating_add(image.bytes() as u64))?;
        let pixels = image.pixels_mut(context.scratch)?;
        let mut out = memory::with_capacity(bytes as usize)?;
        for y in -top..h + bottom {
            let row = source(y, h, self.mode) * w;
            for x in -left..w + right {
                let at = (row + source(x, w, self.mode)) as usize * c;
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
        need_place("Pad", input)?;
        let [left, top, right, bottom] = self.sides;
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
        let [left, top, right, bottom] = self.sides;
        let size = (width + left + right, height + top + bottom);
        Ok(vec![Move::Crop { left: -i64::from(left), top: -i64::from(top), size }].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if !matches!(self.mode, Mode::Constant) {
            return self.copy(image, context);
        }
        let [left, top, right, bottom] = self.sides;
        let (width, height) = (image.width() + left + right, image.height() + top + bottom);
        image.crop(-i64::from(left), -i64::from(top), width, height, self.fill, context.scratch)
    }
}

#[cfg(test)]
mod tests;
