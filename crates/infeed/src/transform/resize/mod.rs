//! `Resize`: resizes to a size, or the short side of an image to a length.

use super::{
    array::{
        is_array,
        resample::{INTERPOLATION, Method, filter, resample},
        sides::Sides,
        with_last,
    },
    common::{ANTIALIAS, fixed, known, need_place},
};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform,
    Value,
};
use infeed_resample::Filter;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Resize",
    about: "resize: an int is the new short side of an image, (height, width) the new size; a list gives the lengths of the last \
            axes of an array, and integers take the nearest element",
    params: &[
        Param {
            name: "size",
            python: "int | Sequence[int]",
            default: None,
            about: "short side, or (height, width); for arrays the lengths of the last axes: (64, 64, 64)",
        },
        INTERPOLATION,
        Param {
            name: "max_size",
            python: "int | None",
            default: Some("null"),
            about: "longest side allowed when size is an int",
        },
        ANTIALIAS,
    ],
    build,
};

#[derive(Debug)]
enum Size {
    Short {
        side: u32,
        longest: Option<u32>,
    },
    Both {
        height: u32,
        width: u32,
    },
    /// More axes than an image has.
    Axes,
}

#[derive(Debug)]
struct Resize {
    sides: Sides,
    size: Size,
    filter: Filter,
    antialias: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let sides = Sides::read("Resize", args, "size")?;
    let (height, width) = sides.image().unwrap_or_default();
    let count = args.ints("size", 1)?.len();
    let size = if count == 1 {
        let longest = if args.is_none("max_size") { None } else { Some(args.int("max_size", 1)? as u32) };
        if longest.is_some_and(|l| l <= height) {
            return Err(args.error("max_size", "must be larger than size"));
        }
        Size::Short { side: height, longest }
    } else if args.is_none("max_size") {
        if count == 2 { Size::Both { height, width } } else { Size::Axes }
    } else {
        return Err(args.error("max_size", "goes with an int size only"));
    };
    Ok(Box::new(Resize { sides, size, filter: filter(args)?, antialias: args.flag("antialias")? }))
}

impl Resize {
    /// Returns the new (height, width) with torchvision's rounding: the long side is rounded down.
    fn target(&self, height: u32, width: u32) -> (u32, u32) {
        match self.size {
            Size::Axes => (height, width),
            Size::Both { height, width } => (height, width),
            Size::Short { side, longest } => {
                let (short, long) = (height.min(width), height.max(width));
                let mut new_short = side;
                let mut new_long = (f64::from(side) * f64::from(long) / f64::from(short)) as u32;
                if let Some(longest) = longest.filter(|l| new_long > *l) {
                    new_short = (f64::from(longest) * f64::from(new_short) / f64::from(new_long)) as u32;
                    new_long = longest;
                }
                // No upper limit: of a giant only what is used is made, and what is too much is refused then.
                let (new_short, new_long) = (new_short.max(1), new_long.max(1));
                if width <= height { (new_long, new_short) } else { (new_short, new_long) }
            }
        }
    }
}

impl Transform for Resize {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        if is_array(input) {
            self.sides.fit(input, false)?;
            Method::need(Method::of(self.filter, self.antialias), "Resize")?;
            let sizes: Vec<Dim> = self.sides.array()?.iter().map(|n| Dim::Fixed(*n)).collect();
            return Ok(with_last(input, &sizes));
        }
        need_place("Resize", input)?;
        self.sides.image()?;
        let size = match (self.size_if_fixed(), input.image_dims()) {
            (Some(size), _) => Some(size),
            (None, Some((h, w, _))) => known(h).zip(known(w)).map(|(h, w)| self.target(h, w)),
            _ => None,
        };
        Ok(match size {
            Some((h, w)) => input.with_size(fixed(h), fixed(w)),
            None => input.with_size(Dim::Any, Dim::Any),
        })
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, _: &mut Rng) -> Result<Moves> {
        let (height, width) = self.target(height, width);
        Ok(vec![Move::Resize((width, height))].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        if let Value::Tensor(tensor) = value {
            let method = Method::need(Method::of(self.filter, self.antialias), "Resize")?;
            return resample(tensor, self.sides.array()?, method, context);
        }
        let image = value.image_mut()?;
        let (height, width) = self.target(image.height(), image.width());
        image.resize(width, height, self.filter, self.antialias, context.scratch)
    }
}

impl Resize {
    fn size_if_fixed(&self) -> Option<(u32, u32)> {
        match self.size {
            Size::Both { height, width } => Some((height, width)),
            Size::Short { .. } | Size::Axes => None,
        }
    }
}

#[cfg(test)]
mod tests;
