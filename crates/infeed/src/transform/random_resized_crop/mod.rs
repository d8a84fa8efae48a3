//! `RandomResizedCrop`: a crop of random area and aspect ratio, resized. The decoder decodes only the crop.

use super::{
    array::{
        is_array,
        resample::{INTERPOLATION, Method, filter, resample},
        same_last,
        sides::Sides,
        window::{Mode, Window},
        with_last,
    },
    common::{ANTIALIAS, fixed, need_place, round_even},
};
use infeed_core::{
    Args, Boxes, Canvas, Context, Dim, Entry, Error, FieldSpec, Move, Moves, Param, Reach, Result, Rng,
    Tensor, Transform, Value,
};
use infeed_resample::Filter;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomResizedCrop",
    about: "a crop of random area and aspect ratio, resized to one size; of an array a box over the last axes",
    params: &[
        Param {
            name: "size",
            python: "int | Sequence[int]",
            default: None,
            about: "size, or (height, width); for arrays the lengths of the last axes: (64, 64, 64)",
        },
        Param {
            name: "scale",
            python: "Sequence[float]",
            default: Some("[0.08, 1.0]"),
            about: "smallest and largest share of the image's area, or of the volume of the axes",
        },
        Param {
            name: "ratio",
            python: "Sequence[float]",
            default: Some("[0.75, 1.3333333333333333]"),
            about: "smallest and largest width / height; with other than two axes, of the shares of two axes that the box takes",
        },
        INTERPOLATION,
        ANTIALIAS,
    ],
    build,
};

#[derive(Debug)]
struct RandomResizedCrop {
    size: Sides,
    scale: (f64, f64),
    ratio: (f64, f64),
    filter: Filter,
    antialias: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (scale, ratio) = (args.pair("scale")?, args.pair("ratio")?);
    if !(0.0 < scale.0 && scale.0 <= scale.1) {
        return Err(args.error("scale", "must be (low, high) with 0 < low <= high"));
    }
    if !(0.0 < ratio.0 && ratio.0 <= ratio.1) {
        return Err(args.error("ratio", "must be (low, high) with 0 < low <= high"));
    }
    Ok(Box::new(RandomResizedCrop {
        size: Sides::read("RandomResizedCrop", args, "size")?,
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

    /// Draws a box of an array: where it starts and how long it is. Two axes have the rule of images, so that an image and an
    /// array of the same size give the same part.
    fn choose_box(&self, lengths: &[usize], rng: &mut Rng) -> Result<(Vec<i64>, Vec<usize>)> {
        if lengths.contains(&0) {
            return Err(Error::sample(format!("RandomResizedCrop finds nothing in an array of {lengths:?}")));
        }
        if let [height, width] = lengths
            && let (Ok(height), Ok(width)) = (u32::try_from(*height), u32::try_from(*width))
        {
            let crop = self.choose(width, height, rng);
            let starts = vec![i64::from(crop.top), i64::from(crop.left)];
            return Ok((starts, vec![crop.height as usize, crop.width as usize]));
        }
        let axes = lengths.len() as f64;
        let (low, high) = (self.ratio.0.ln(), self.ratio.1.ln());
        for _ in 0..10 {
            let share = rng.uniform(self.scale.0, self.scale.1).powf(1.0 / axes);
            // Stretched by half of the ratio each, so that two axes differ by the ratio at most; and then by so much that the
            // volume is as drawn.
            let stretch: Vec<f64> = lengths.iter().map(|_| rng.uniform(low, high) / 2.0).collect();
            let mean = stretch.iter().sum::<f64>() / axes;
            let sides = lengths.iter().zip(&stretch);
            let sides: Vec<i64> =
                sides.map(|(n, s)| round_even(*n as f64 * share * (s - mean).exp())).collect();
            if sides.iter().zip(lengths).all(|(side, n)| 0 < *side && *side as usize <= *n) {
                let draw = |(side, n): (&i64, &usize)| rng.below((*n - *side as usize) as u64 + 1) as i64;
                let starts = sides.iter().zip(lengths).map(draw).collect();
                return Ok((starts, sides.iter().map(|n| *n as usize).collect()));
            }
        }
        Ok((vec![0; lengths.len()], lengths.to_vec()))
    }

    fn array(&self, tensor: &mut Tensor, context: &mut Context<'_>) -> Result<()> {
        let sizes = self.size.array()?;
        let method = Method::need(Method::of(self.filter, self.antialias), "RandomResizedCrop")?;
        let outer = tensor.shape.len().saturating_sub(sizes.len());
        let (starts, taken) = self.choose_box(&tensor.shape[outer..], &mut context.rng)?;
        let window =
            Window { name: "RandomResizedCrop", starts, sizes: taken, mode: Mode::Constant, fill: 0.0 };
        window.apply(tensor, context)?;
        resample(tensor, sizes, method, context)
    }
}

impl Transform for RandomResizedCrop {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        if is_array(input) {
            self.size.fit(input, false)?;
            Method::need(Method::of(self.filter, self.antialias), "RandomResizedCrop")?;
            let sizes: Vec<Dim> = self.size.array()?.iter().map(|n| Dim::Fixed(*n)).collect();
            return Ok(with_last(input, &sizes));
        }
        need_place("RandomResizedCrop", input)?;
        let (height, width) = self.size.image()?;
        Ok(input.with_size(fixed(height), fixed(width)))
    }

    fn check_together(&self, fields: &[(&str, &FieldSpec)]) -> Result<()> {
        let count = self.size.array().map_or(2, <[usize]>::len);
        same_last("RandomResizedCrop", fields, count)
    }

    fn reach(&self) -> Reach {
        Reach::Places
    }

    fn moves(&self, (width, height): Canvas, _: Option<&Boxes>, rng: &mut Rng) -> Result<Moves> {
        let Crop { left, top, width, height } = self.choose(width, height, rng);
        let crop = Move::Crop { left: left.into(), top: top.into(), size: (width, height) };
        let (height, width) = self.size.image()?;
        Ok(vec![crop, Move::Resize((width, height))].into())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        if let Value::Tensor(tensor) = value {
            return self.array(tensor, context);
        }
        let image = value.image_mut()?;
        let crop = self.choose(image.width(), image.height(), &mut context.rng);
        image.crop(crop.left.into(), crop.top.into(), crop.width, crop.height, [0; 4], context.scratch)?;
        let (height, width) = self.size.image()?;
        image.resize(width, height, self.filter, self.antialias, context.scratch)
    }
}

#[cfg(test)]
mod tests;
