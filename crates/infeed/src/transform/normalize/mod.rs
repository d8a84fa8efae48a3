//! `Normalize`: (value - mean) / std per channel, in float; images become channels-first.

mod stats;

use super::{
    array::{
        self, float_of, is_array, one_axis,
        pointwise::{Op, Real, channels},
    },
    common::need_image,
};
use infeed_core::{
    Args, Context, Dim, Dtype, Entry, Error, FieldSpec, Param, PixelLayout, Result, Tensor, Transform, Value,
};
use serde_json::Value as Json;
use std::sync::Arc;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Normalize",
    about: "(value - mean) / std per channel; u8 images are scaled to 0..1 first; the result is float, and that of images \
            channels-first; arrays keep their axes and are not scaled",
    params: &[
        Param {
            name: "mean",
            python: "float | Sequence[float] | str | dict[str, object]",
            default: None,
            about: "mean of each channel, in 0..1 for u8 images; or, for arrays, what infeed stats made, as a path or a dict: \
                    each field takes its own numbers",
        },
        Param {
            name: "std",
            python: "float | Sequence[float] | None",
            default: Some("null"),
            about: "standard deviation of each channel, in the same units; not with infeed stats",
        },
        Param {
            name: "axis",
            python: "int | None",
            default: Some("null"),
            about: "for arrays: the axis of channels, if there is more than one mean",
        },
    ],
    build,
};

#[derive(Debug)]
struct Normalize {
    mean: Vec<f64>,
    std: Vec<f64>,
    axis: Option<i64>,
    /// The statistics of all fields, until it is known which field it is.
    stats: Option<Json>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let axis = one_axis(args, "axis")?;
    if let Some(stats) = stats::read(args)? {
        if !args.is_none("std") {
            return Err(args.error("std", "is part of what infeed stats made: leave it out"));
        }
        return Ok(Box::new(Normalize { mean: vec![], std: vec![], axis, stats: Some(stats) }));
    }
    if args.is_none("std") {
        return Err(Error::argument("Normalize needs std, unless mean is what infeed stats made"));
    }
    let (mean, std) = (args.floats("mean")?, args.floats("std")?);
    if mean.len() != std.len() || mean.is_empty() {
        return Err(
            args.error("std", &format!("must have one number per channel, as mean has ({})", mean.len()))
        );
    }
    if std.iter().any(|s| *s <= 0.0) {
        return Err(args.error("std", "must be positive"));
    }
    Ok(Box::new(Normalize { mean, std, axis, stats: None }))
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

    /// The place of the channels in an array.
    fn channels(&self, rank: usize) -> Result<usize> {
        match self.axis {
            Some(given) => array::axis("Normalize", "axis", given, rank),
            None if self.mean.len() == 1 => Ok(0),
            None => Err(Error::plan(
                "Normalize",
                format!(
                    "has {} means: say which axis of the array has the channels with axis=",
                    self.mean.len()
                ),
            )),
        }
    }

    fn array_spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        let at = self.channels(input.shape.len())?;
        if let Some(Dim::Fixed(n)) = input.shape.get(at)
            && self.mean.len() != 1
            && self.mean.len() != *n
        {
            return Err(Error::plan(
                "Normalize",
                format!(
                    "has {} means, but axis {at} of the field has {n} channels: {input}",
                    self.mean.len()
                ),
            ));
        }
        Ok(FieldSpec { dtype: float_of(input.dtype), ..input.clone() })
    }

    fn array(&self, tensor: &mut Tensor, context: &mut Context<'_>) -> Result<()> {
        let axis = self.channels(tensor.shape.len())?;
        let one = |(mean, std): (&f64, &f64)| Standard { mean: *mean, std: *std };
        let ops: Vec<Standard> = self.mean.iter().zip(&self.std).map(one).collect();
        channels(tensor, &ops, axis, context)
    }
}

/// One channel.
struct Standard {
    mean: f64,
    std: f64,
}

impl Op for Standard {
    fn on<R: Real>(&self) -> impl FnMut(R) -> R {
        let (mean, std) = (R::of(self.mean), R::of(self.std));
        move |x| (x - mean) / std
    }
}

impl Transform for Normalize {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        if self.stats.is_some() {
            let what = "statistics are for fields of arrays that map() names with on=";
            return Err(Error::plan("Normalize", what));
        }
        if is_array(input) {
            return self.array_spec(input);
        }
        need_image("Normalize", input)?;
        if self.axis.is_some() || self.mean.len() > 4 {
            return Err(Error::plan(
                "Normalize",
                "axis, and more than four means, are for arrays: the field is an image",
            ));
        }
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

    fn for_field(&self, field: &str) -> Result<Option<Arc<dyn Transform>>> {
        let Some(stats) = &self.stats else { return Ok(None) };
        let numbers = stats::of_field(stats, field)?;
        let axis = self.axis.or(numbers.axis);
        Ok(Some(Arc::new(Normalize { mean: numbers.mean, std: numbers.std, axis, stats: None })))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        if let Value::Tensor(tensor) = value {
            return self.array(tensor, context);
        }
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
