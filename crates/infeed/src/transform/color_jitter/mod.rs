//! `ColorJitter`: brightness, contrast, saturation and hue by random factors, in random order.

use super::pixels::{colours, need_colours};
use infeed_core::{Args, Context, Entry, FieldSpec, Image, Param, Result, Rng, Transform, Value};

const fn param(name: &'static str, about: &'static str) -> Param {
    Param { name, python: "float | Sequence[float] | None", default: Some("null"), about }
}

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "ColorJitter",
    about: "change brightness, contrast, saturation and hue by random factors, in random order",
    params: &[
        param("brightness", "x for factors in max(0, 1 - x)..1 + x, or (low, high)"),
        param("contrast", "x for factors in max(0, 1 - x)..1 + x, or (low, high)"),
        param("saturation", "x for factors in max(0, 1 - x)..1 + x, or (low, high)"),
        param("hue", "x for turns in -x..x of the colour circle, or (low, high); at most 0.5 to either side"),
    ],
    build,
};

/// Brightness, contrast, saturation, hue.
#[derive(Debug)]
struct ColorJitter {
    ranges: [Option<(f64, f64)>; 4],
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(ColorJitter {
        ranges: [
            range(args, "brightness", 1.0, (0.0, f64::INFINITY))?,
            range(args, "contrast", 1.0, (0.0, f64::INFINITY))?,
            range(args, "saturation", 1.0, (0.0, f64::INFINITY))?,
            range(args, "hue", 0.0, (-0.5, 0.5))?,
        ],
    }))
}

fn range(args: &Args, name: &str, middle: f64, bound: (f64, f64)) -> Result<Option<(f64, f64)>> {
    if args.is_none(name) {
        return Ok(None);
    }
    let (low, high) = match args.floats(name)?.as_slice() {
        [x] if *x < 0.0 => return Err(args.error(name, "must not be negative when it is one number")),
        [x] if middle > 0.0 => ((middle - x).max(0.0), middle + x),
        [x] => (middle - x, middle + x),
        [low, high] => (*low, *high),
        _ => return Err(args.error(name, "must be a number or (low, high)")),
    };
    if !(bound.0 <= low && low <= high && high <= bound.1) {
        return Err(args.error(name, &format!("must rise and stay within {} to {}", bound.0, bound.1)));
    }
    // An empty range at the neutral value is disabled, as in torchvision.
    Ok((low != high || low != middle).then_some((low, high)))
}

impl ColorJitter {
    /// Draws order and factors as torchvision does: first a permutation, then one number per range.
    fn choose(&self, rng: &mut Rng) -> ([usize; 4], [Option<f64>; 4]) {
        let mut order = [0, 1, 2, 3];
        for i in (1..4).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        (order, self.ranges.map(|r| r.map(|(low, high)| rng.uniform(low, high))))
    }
}

fn jitter(
    image: &mut Image,
    order: [usize; 4],
    factors: [Option<f64>; 4],
    context: &mut Context<'_>,
) -> Result<()> {
    let (pixels, channels) = colours(image, context)?;
    for which in order {
        match (which, factors[which]) {
            (0, Some(factor)) => infeed_pixels::brightness(pixels, factor),
            (1, Some(factor)) => infeed_pixels::contrast(pixels, channels, factor),
            // Gray images have no saturation.
            (2, Some(factor)) if channels == 3 => infeed_pixels::saturation(pixels, factor),
            (3, Some(factor)) if channels == 3 => infeed_pixels::hue(pixels, factor),
            _ => {}
        }
    }
    Ok(())
}

impl Transform for ColorJitter {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_colours("ColorJitter", input)?;
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let (order, factors) = self.choose(&mut context.rng);
        if factors.iter().all(Option::is_none) {
            return Ok(());
        }
        jitter(value.image_mut()?, order, factors, context)
    }
}

#[cfg(test)]
mod tests;
