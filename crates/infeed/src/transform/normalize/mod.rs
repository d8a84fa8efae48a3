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
            about: "standard deviation of each channel, in the same units",
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

impl Normalize {
    /// Refuses numbers that belong to pixels of 0..255: u8 pixels are scaled to 0..1 first, so every pixel of the result
    /// would be about the same.
    fn check_units(&self) -> Result<()> {
        for (name, numbers) in [("mean", &self.mean), ("std", &self.std)] {
            if let Some(odd) = numbers.iter().find(|n| **n > 1.0) {
                return Err(Error::plan(
                    "Normalize",
                    format!(
                        "{name} has {odd}, but u8 images are scaled to 0..1 first: divide mean and std by 255, or put \
                         T.ToDtype(\"f32\") before it, which keeps 0..255"
                    ),
                ));
            }
        }
        Ok(())
    }
}

impl Transform for Normalize {
    fn is_random(&self) -> bool {
        false
    }

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
            self.check_units()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn units_of_255_are_refused_for_scaled_pixels_only() {
        let bytes = FieldSpec::image(Dim::Fixed(3));
        let floats = FieldSpec { dtype: Dtype::F32, ..bytes.clone() };
        let make = |mean: f64, std: f64| {
            ENTRY
                .make(json!({"mean": [0.1, mean, 0.1], "std": [std, 0.2, 0.2]}).as_object().unwrap())
                .unwrap()
        };
        for (mean, std, wrong) in [(123.7, 58.4, "mean"), (0.5, 58.4, "std")] {
            let error = make(mean, std).spec(&bytes).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("255"), "{error}");
            assert!(make(mean, std).spec(&floats).is_ok());
        }
        assert!(make(1.0, 1.0).spec(&bytes).is_ok());
    }
}
