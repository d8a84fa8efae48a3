//! `keypoints`: points that follow their image through every transform.

use super::{
    boxes::{IMAGE, image},
    npy::plain,
    numbers::{need_numbers, of_bytes, of_value},
};
use infeed_core::{
    Args, Bytes, Decoder, Dim, Dtype, Entry, Error, FieldKind, FieldSpec, Param, Result, Scratch, TargetRule,
    Value,
    target::{PointRule, Points},
};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> = Entry {
    name: "keypoints",
    about: "points in an image, x, y or x, y, visibility, as JSON lists, .npy or an array of numbers: they follow the image",
    params: &[
        Param {
            name: "points",
            python: "int | None",
            default: Some("null"),
            about: "how many points a thing has, for numbers that are stored without a shape: 17 for COCO's persons",
        },
        Param {
            name: "visibility",
            python: "bool",
            default: Some("true"),
            about: "whether a third number says if a point is visible; 0 means that it was not labelled",
        },
        Param {
            name: "pairs",
            python: "Sequence[Sequence[int]]",
            default: Some("[]"),
            about: "points that change places when the image is mirrored, such as [[1, 2]] for the left and the right eye",
        },
        Param {
            name: "relative",
            python: "bool",
            default: Some("false"),
            about: "whether stored numbers are shares of the image's width and height",
        },
        Param {
            name: "to_relative",
            python: "bool",
            default: Some("false"),
            about: "whether numbers in batches are shares of the image's width and height",
        },
        IMAGE,
    ],
    build: |args| Ok(Box::new(PointDecoder::new(args)?)),
};

#[derive(Debug)]
struct PointDecoder {
    points: Option<usize>,
    width: usize,
    rule: Arc<PointRule>,
    image: Option<String>,
}

impl PointDecoder {
    fn new(args: &Args) -> Result<Self> {
        let wrong = || args.error("pairs", "must be pairs of points, such as [[1, 2], [3, 4]]");
        let mut pairs = vec![];
        for pair in args.value("pairs").and_then(|v| v.as_array()).ok_or_else(wrong)? {
            let numbers: Option<Vec<usize>> =
                pair.as_array().and_then(|p| p.iter().map(|n| n.as_u64().map(|n| n as usize)).collect());
            match numbers.as_deref() {
                Some([a, b]) => pairs.push((*a, *b)),
                _ => return Err(wrong()),
            }
        }
        let points = if args.is_none("points") { None } else { Some(args.int("points", 1)? as usize) };
        if let Some(most) = points.filter(|n| pairs.iter().any(|(a, b)| a >= n || b >= n)) {
            return Err(args.error("pairs", &format!("names a point beyond the {most} that there are")));
        }
        let rule =
            PointRule { relative: args.flag("relative")?, to_relative: args.flag("to_relative")?, pairs };
        let width = if args.flag("visibility")? { 3 } else { 2 };
        Ok(PointDecoder { points, width, rule: Arc::new(rule), image: image(args) })
    }

    fn made(&self, numbers: Vec<f64>, shape: Vec<usize>) -> Result<Value> {
        let wrong = |shape: &[usize]| {
            Error::sample(format!(
                "keypoints have the shape {shape:?}: things x points x {} are needed; decoders.keypoints(points=..., \
                 visibility=...) say how numbers without a shape are meant",
                self.width
            ))
        };
        // COCO stores a flat list per thing.
        let shape = match (shape.as_slice(), self.points) {
            ([.., k, w], points) if *w == self.width && points.is_none_or(|p| p == *k) => shape,
            ([0, ..] | [], Some(k)) => vec![0, k, self.width],
            ([n, flat], Some(k)) if *flat == k * self.width => vec![*n, k, self.width],
            ([flat], Some(k)) if flat % (k * self.width) == 0 => vec![flat / (k * self.width), k, self.width],
            _ => return Err(wrong(&shape)),
        };
        if shape.iter().product::<usize>() != numbers.len() {
            return Err(wrong(&shape));
        }
        Ok(Value::Points(Box::new(Points::new(numbers, shape, Arc::clone(&self.rule))?)))
    }
}

impl Decoder for PointDecoder {
    fn spec(&self, field: &FieldSpec) -> Result<FieldSpec> {
        need_numbers("keypoints", field)?;
        let points = self.points.map_or(Dim::Any, Dim::Fixed);
        let stored = field.shape.len();
        let mut shape = vec![points, Dim::Fixed(self.width)];
        // Points of one thing have two axes; of several, as boxes have them, three.
        if !(field.kind == FieldKind::Array && stored == 2 && field.shape[1] == Dim::Fixed(self.width)) {
            shape.insert(0, Dim::Any);
        }
        Ok(FieldSpec { kind: FieldKind::Points, dtype: Dtype::F32, shape })
    }

    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value> {
        let (numbers, shape) = of_bytes(bytes, plain(), scratch)?;
        self.made(numbers, shape)
    }

    fn decode_value(&self, value: Value, _: &mut Scratch) -> Result<Value> {
        let (numbers, shape) = of_value(value)?;
        self.made(numbers, shape)
    }

    fn target(&self) -> Option<TargetRule> {
        Some(TargetRule { image: self.image.clone(), along: None })
    }
}
