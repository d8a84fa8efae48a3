//! `Normalize`: (value - mean) / std per channel, in float, channels first.

use super::common::need_image;
use infeed_core::{
    Args, Context, Dim, Dtype, Entry, Error, FieldSpec, Param, PixelLayout, Result, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Normalize",
    about: "(value - mean) / std per channel; u8 images are scaled to 0..1 first; the result is float and channels-first",
    params: &[
        Param {
            name: "mean",
            python: "Sequence[float]",
            default: None,
            about: "mean of each channel, in 0..1",
        },
        Param {
            name: "std",
            python: "Sequence[float]",
            default: None,
            about: "standard deviation of each channel",
        },
    ],
    build,
};

#[derive(Debug)]
struct Normalize {
    mean: Vec<f64>,
    std: Vec<f64>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let (mean, std) = (args.floats("mean")?, args.floats("std")?);
    if mean.len() != std.len() || mean.len() > 4 {
        return Err(
            args.error("std", &format!("must have one number per channel, as mean has ({})", mean.len()))
        );
    }
    if std.iter().any(|s| *s <= 0.0) {
        return Err(args.error("std", "must be positive"));
    }
    Ok(Box::new(Normalize { mean, std }))
}

impl Transform for Normalize {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_image("Normalize", input)?;
        if let Some((_, _, Dim::Fixed(c))) = input.image_dims()
            && self.mean.len() != 1
            && self.mean.len() != c
        {
            return Err(Error::plan(
                "Normalize",
                format!("has {} means, but the image has {c} channels", self.mean.len()),
            ));
        }
        let mut out = input.with_layout(PixelLayout::Chw);
        if out.dtype == Dtype::U8 {
            out.dtype = Dtype::F32;
        }
        Ok(out)
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        let image = value.image_mut()?;
        let c = usize::from(image.channels());
        if self.mean.len() != 1 && self.mean.len() != c {
            return Err(Error::sample(format!(
                "Normalize has {} means, but this image has {c} channels",
                self.mean.len()
            )));
        }
        let finish = &mut image.finish;
        if finish.dtype == Dtype::U8 {
            finish.dtype = Dtype::F32;
            finish.scale = [1.0 / 255.0; 4];
        }
        for i in 0..c {
            let (mean, std) = (self.mean[i % self.mean.len()], self.std[i % self.std.len()]);
            image.normalize(i, mean, std);
        }
        image.finish.layout = PixelLayout::Chw;
        Ok(())
    }
}
