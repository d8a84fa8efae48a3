//! Sizes and fills that are for images and for arrays.

use super::{MOST_AXES, is_array};
use infeed_core::{Args, Error, FieldSpec, Result};
use serde_json::Value as Json;

/// The argument `size`: of an image as in torchvision, and of the last axes of an array.
#[derive(Debug)]
pub(in crate::transform) struct Sides {
    owner: &'static str,
    sides: Vec<usize>,
    listed: bool,
}

impl Sides {
    /// Reads `n` or a list.
    pub(in crate::transform) fn read(owner: &'static str, args: &Args, name: &str) -> Result<Self> {
        let listed = args.value(name).is_some_and(Json::is_array);
        let sides = args.ints(name, 1)?;
        if sides.is_empty() || sides.len() > MOST_AXES {
            return Err(args.error(name, "must be a size, (height, width), or the lengths of the last axes"));
        }
        if sides.len() <= 2 {
            args.size(name)?;
        }
        Ok(Sides { owner, sides: sides.iter().map(|n| *n as usize).collect(), listed })
    }

    /// For tests.
    #[cfg(test)]
    pub(in crate::transform) fn of(owner: &'static str, sides: &[usize]) -> Self {
        Sides { owner, sides: sides.to_vec(), listed: true }
    }

    /// Height and width of an image.
    pub(in crate::transform) fn image(&self) -> Result<(u32, u32)> {
        let side = |n: usize| u32::try_from(n).ok().filter(|n| *n <= 65_535);
        let (height, width) = match self.sides.as_slice() {
            [n] => (side(*n), side(*n)),
            [h, w] => (side(*h), side(*w)),
            _ => (None, None),
        };
        height.zip(width).ok_or_else(|| {
            let what = format!("size has {} numbers, but an image has height and width", self.sides.len());
            Error::plan(self.owner, what)
        })
    }

    /// The lengths of the last axes of an array. One number could mean any number of axes, so a list is asked for.
    pub(in crate::transform) fn array(&self) -> Result<&[usize]> {
        match (self.listed, self.sides.as_slice()) {
            (true, sides) => Ok(sides),
            (false, sides) => {
                let n = sides.first().copied().unwrap_or(0);
                Err(Error::plan(
                    self.owner,
                    format!(
                        "size={n} leaves open how many axes of an array are meant: size=({n},) is the last one, \
                         size=({n}, {n}) the last two"
                    ),
                ))
            }
        }
    }

    /// Checks that an array has so many axes, and that they are long enough if that is asked.
    pub(in crate::transform) fn fit(&self, input: &FieldSpec, long: bool) -> Result<()> {
        let sides = self.array()?;
        let Some(outer) = input.shape.len().checked_sub(sides.len()) else {
            return Err(Error::plan(
                self.owner,
                format!("size has {} numbers, but the field is {input}, with fewer axes", sides.len()),
            ));
        };
        let short =
            |(dim, side): (&infeed_core::Dim, &usize)| matches!(dim, infeed_core::Dim::Fixed(n) if n < side);
        if long && input.shape[outer..].iter().zip(sides).any(short) {
            return Err(Error::plan(
                self.owner,
                format!(
                    "size is {sides:?}, but the field is {input}: pad_if_needed=True pads what is too short"
                ),
            ));
        }
        Ok(())
    }
}

/// The argument `fill`: a colour for images, one number for arrays.
#[derive(Debug)]
pub(in crate::transform) struct Fill {
    owner: &'static str,
    values: Vec<f64>,
}

impl Fill {
    /// Reads a number or a list.
    pub(in crate::transform) fn read(owner: &'static str, args: &Args) -> Result<Self> {
        let values = args.floats("fill")?;
        if values.is_empty() || values.len() > 4 {
            return Err(args.error("fill", "must be one number or one per channel"));
        }
        Ok(Fill { owner, values })
    }

    /// The colour of pixels outside an image.
    pub(in crate::transform) fn image(&self) -> Result<[u8; 4]> {
        let byte = |x: &f64| {
            let whole = (0.0..=255.0).contains(x) && x.fract() == 0.0;
            whole.then_some(*x as u8).ok_or_else(|| {
                Error::argument(format!(
                    "{}: fill must be whole and 0 to 255 for images, got {x}",
                    self.owner
                ))
            })
        };
        let mut out = [0; 4];
        for (at, o) in out.iter_mut().enumerate() {
            *o = match self.values.as_slice() {
                [one] => byte(one)?,
                many => many.get(at).map(byte).transpose()?.unwrap_or(0),
            };
        }
        Ok(out)
    }

    /// The value of elements outside an array.
    pub(in crate::transform) fn array(&self) -> Result<f64> {
        match self.values.as_slice() {
            [one] => Ok(*one),
            _ => Err(Error::plan(self.owner, "fill must be one number for arrays")),
        }
    }

    /// Checks it against a field.
    pub(in crate::transform) fn check(&self, input: &FieldSpec) -> Result<()> {
        if !is_array(input) {
            return self.image().map(drop);
        }
        let value = self.array()?;
        super::element::element_bytes(input.dtype, value).map(drop).ok_or_else(|| {
            Error::plan(self.owner, format!("fill is {value}, which {} cannot hold", input.dtype))
        })
    }
}
