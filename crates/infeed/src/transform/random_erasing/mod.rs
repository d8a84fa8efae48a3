//! `RandomErasing`: paints over a random rectangle, with a given probability. On u8 images it changes pixels; after
//! Normalize it covers the finished values, and the image below is still decoded late.

use super::common::{need_image, round_even};
use infeed_core::{
    Args, Context, Cover, Dim, Dtype, Entry, Error, FieldSpec, Image, Paint, Param, Result, Rng, Transform,
    Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomErasing",
    about: "paint over a rectangle of random place, area and shape, with a given probability",
    params: &[
        Param { name: "p", python: "float", default: Some("0.5"), about: "probability of erasing" },
        Param {
            name: "scale",
            python: "Sequence[float]",
            default: Some("[0.02, 0.33]"),
            about: "smallest and largest share of the image's area",
        },
        Param {
            name: "ratio",
            python: "Sequence[float]",
            default: Some("[0.3, 3.3]"),
            about: "smallest and largest height / width",
        },
        Param {
            name: "value",
            python: "float | Sequence[float] | str",
            default: Some("0"),
            about: "what is painted, in the values of the image here: a number, one per channel, or \"random\" for noise",
        },
        Param {
            name: "inplace",
            python: "bool",
            default: Some("false"),
            about: "taken for torchvision's sake; it changes nothing",
        },
    ],
    build,
};

#[derive(Debug)]
struct RandomErasing {
    p: f64,
    scale: (f64, f64),
    ratio: (f64, f64),
    /// `None` is noise.
    value: Option<Vec<f64>>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (scale, ratio) = (args.pair("scale")?, args.pair("ratio")?);
    if !(0.0 <= scale.0 && scale.0 <= scale.1 && scale.1 <= 1.0) {
        return Err(args.error("scale", "must be (low, high) with 0 <= low <= high <= 1"));
    }
    if !(0.0 < ratio.0 && ratio.0 <= ratio.1) {
        return Err(args.error("ratio", "must be (low, high) with 0 < low <= high"));
    }
    let value = match args.text("value") {
        Ok("random") => None,
        Ok(_) => return Err(args.error("value", "must be a number, one per channel, or \"random\"")),
        Err(_) => Some(args.floats("value")?),
    };
    if value.as_ref().is_some_and(|v| v.is_empty() || v.len() > 4) {
        return Err(args.error("value", "must be one number or one per channel"));
    }
    args.flag("inplace")?;
    Ok(Box::new(RandomErasing { p: args.probability("p")?, scale, ratio, value }))
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Area {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

impl RandomErasing {
    /// torchvision's rule: ten attempts at a random area and log-uniform ratio, then none.
    fn choose(&self, width: u32, height: u32, rng: &mut Rng) -> Option<Area> {
        let area = f64::from(width) * f64::from(height);
        let (low, high) = (self.ratio.0.ln(), self.ratio.1.ln());
        for _ in 0..10 {
            let target = area * rng.uniform(self.scale.0, self.scale.1);
            let aspect = rng.uniform(low, high).exp();
            let h = round_even((target * aspect).sqrt());
            let w = round_even((target / aspect).sqrt());
            if h < i64::from(height) && w < i64::from(width) {
                let (w, h) = (w as u32, h as u32);
                let top = rng.below(u64::from(height - h) + 1) as u32;
                let left = rng.below(u64::from(width - w) + 1) as u32;
                return Some(Area { left, top, width: w, height: h });
            }
        }
        None
    }

    /// Paints over `area`; noise is drawn from `rng`.
    fn erase(&self, image: &mut Image, area: Area, rng: Rng, context: &mut Context<'_>) -> Result<()> {
        let channels = usize::from(image.channels());
        let paint = match &self.value {
            None => Paint::Noise(rng),
            Some(v) if v.len() == 1 || v.len() == channels => {
                Paint::Flat(std::array::from_fn(|c| v[c % v.len()] as f32))
            }
            Some(v) => {
                return Err(Error::sample(format!(
                    "RandomErasing has {} values, but this image has {channels} channels",
                    v.len()
                )));
            }
        };
        let cover = Cover::new(area.left.into(), area.top.into(), area.width, area.height, paint);
        if image.finish.dtype == Dtype::U8 {
            image.paint_over(&cover, context.scratch)
        } else {
            image.cover(cover);
            Ok(())
        }
    }
}

impl Transform for RandomErasing {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_image("RandomErasing", input)?;
        if let (Some((_, _, Dim::Fixed(c))), Some(v)) = (input.image_dims(), &self.value)
            && v.len() != 1
            && v.len() != c
        {
            return Err(Error::plan(
                "RandomErasing",
                format!("has {} values, but the image has {c} channels", v.len()),
            ));
        }
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        if !context.rng.chance(self.p) {
            return Ok(());
        }
        match self.choose(image.width(), image.height(), &mut context.rng) {
            Some(area) => self.erase(image, area, context.rng.clone(), context),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
