//! `RandomResizedCrop`: a crop of random area and aspect ratio, resized. The decoder decodes only the crop.

use super::common::{ANTIALIAS, INTERPOLATION, filter, fixed, need_place, round_even};
use infeed_core::{
    Args, Boxes, Canvas, Context, Entry, FieldSpec, Move, Moves, Param, Reach, Result, Rng, Transform, Value,
};
use infeed_resample::Filter;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomResizedCrop",
    about: "a crop of random area and aspect ratio, resized to one size",
    params: &[
        Param {
            name: "size",
            python: "int | Sequence[int]",
            default: None,
            about: "size, or (height, width)",
        },
        Param {
            name: "scale",
            python: "Sequence[float]",
            default: Some("[0.08, 1.0]"),
            about: "smallest and largest share of the image's area",
        },
        Param {
            name: "ratio",
            python: "Sequence[float]",
            default: Some("[0.75, 1.3333333333333333]"),
            about: "smallest and largest width / height",
        },
        INTERPOLATION,
        ANTIALIAS,
    ],
    build,
};

#[derive(Debug)]
struct RandomResizedCrop {
    height: u32,
    width: u32,
    scale: (f64, f64),
    ratio: (f64, f64),
    filter: Filter,
    antialias: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (height, width) = args.size("size")?;
    let (scale, ratio) = (args.pair("scale")?, args.pair("ratio")?);
    if !(0.0 < scale.0 && scale.0 <= scale.1) {
        return Err(args.error("scale", "must be (low, high) with 0 < low <= high"));
    }
    if !(0.0 < ratio.0 && ratio.0 <= ratio.1) {
        return Err(args.error("ratio", "must be (low, high) with 0 < low <= high"));
    }
    Ok(Box::new(RandomResizedCrop {
        height,
        width,
        scale,
        ratio,
        filter: filter(args)?,
        antialias: args.flag("antialias")?,
    }))
}

/// A crop box.
#[derive(Debug, PartialEq, Eq)]
struct Crop {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

impl RandomResizedCrop {
    /// torchvision's rule: ten attempts at a random area and log-uniform ratio, then the largest centred crop that
    /// keeps the ratio within bounds.
    fn choose(&self, width: u32, height: u32, rng: &mut Rng) -> Crop {
        let area = f64::from(width) * f64::from(height);
        let (low, high) = (self.ratio.0.ln(), self.ratio.1.ln());
        for _ in 0..10 {
            let target = area * rng.uniform(self.scale.0, self.scale.1);
            let aspect = rng.uniform(low, high).exp();
            let w = round_even((target * aspect).sqrt());
            let h = round_even((target / aspect).sqrt());
            if 0 < w && w <= i64::from(width) && 0 < h && h <= i64::from(height) {
                let (w, h) = (w as u32, h as u32);
                let top = rng.below(u64::from(height - h) + 1) as u32;
                let left = rng.below(u64::from(width - w) + 1) as u32;
                return Crop { left, top, width: w, height: h };
            }
        }
        let shape = f64::from(width) / f64::from(height);
        let (mut w, mut h) = (width, height);
        if shape < self.ratio.0 {
            h = (round_even(f64::from(w) / self.ratio.0) as u32).clamp(1, height);
        } else if shape > self.ratio.1 {
            w = (round_even(f64::from(h) * self.ratio.1) as u32).clamp(1, width);
        }
        Crop { left: (width - w) / 2, top: (height - h) / 2, width: w, height: h }
    }
}

impl Transform for RandomResizedCrop {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_place("RandomResizedCrop", input)?;
        Ok(input.with_size(fixed(self.height), fixed(self.width)))
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let Crop { left, top, width, height } = self.choose(width, height, rng);
        let crop = Move::Crop { left: left.into(), top: top.into(), size: (width, height) };
        Ok(vec![crop, Move::Resize((self.width, self.height))].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let crop = self.choose(image.width(), image.height(), &mut context.rng);
        image.crop(crop.left.into(), crop.top.into(), crop.width, crop.height, [0; 4], context.scratch)?;
        image.resize(self.width, self.height, self.filter, self.antialias, context.scratch)
    }
}

#[cfg(test)]
mod tests;
