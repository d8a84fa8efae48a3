//! `boxes`: boxes that follow their image through every transform.

use super::{
    npy::plain,
    numbers::{need_numbers, of_bytes, of_value},
};
use infeed_core::{
    Args, Bytes, Decoder, Dim, Dtype, Entry, Error, FieldKind, FieldSpec, Param, Result, Scratch, TargetRule,
    Value,
    target::{BoxFormat, BoxRule, Boxes},
};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The registry entry.
pub(super) static ENTRY: Entry<dyn Decoder> = Entry {
    name: "boxes",
    about: "boxes in an image, as JSON lists, .npy or an array of numbers: they follow the image, are clipped, and leave with \
            what belongs to them when nothing of them is left",
    params: &[
        Param {
            name: "format",
            python: "str",
            default: Some("\"xyxy\""),
            about: "what the four stored numbers are: xyxy (corners), xywh (corner and size) or cxcywh (middle and size)",
        },
        Param {
            name: "relative",
            python: "bool",
            default: Some("false"),
            about: "whether stored numbers are shares of the image's width and height",
        },
        Param { name: "to", python: "str", default: Some("\"xyxy\""), about: "the format in batches" },
        Param {
            name: "to_relative",
            python: "bool",
            default: Some("false"),
            about: "whether numbers in batches are shares of the image's width and height",
        },
        Param {
            name: "min_size",
            python: "float",
            default: Some("1.0"),
            about: "boxes of less width or height, in pixels of the final image, are left out",
        },
        Param {
            name: "min_visible",
            python: "float",
            default: Some("0.0"),
            about: "boxes of which crops leave less than this share are left out",
        },
        ALONG,
        IMAGE,
    ],
    build: |args| Ok(Box::new(BoxDecoder::new(args)?)),
};

/// The `image` parameter.
pub(super) const IMAGE: Param = Param {
    name: "image",
    python: "str | None",
    default: Some("null"),
    about: "the field of the image that they lie in, if there are several",
};

/// The `along` parameter.
const ALONG: Param = Param {
    name: "along",
    python: "Sequence[str] | None",
    default: Some("null"),
    about: "the fields with one element per box, such as labels: what leaves with a box; [] if there are none",
};

#[derive(Debug)]
struct BoxDecoder {
    rule: Arc<BoxRule>,
    target: TargetRule,
}

impl BoxDecoder {
    fn new(args: &Args) -> Result<Self> {
        let rule = BoxRule {
            format: format(args, "format")?,
            relative: args.flag("relative")?,
            to: format(args, "to")?,
            to_relative: args.flag("to_relative")?,
            min_size: args.float("min_size")?,
            min_visible: args.probability("min_visible")?,
        };
        if rule.min_size < 0.0 {
            return Err(args.error("min_size", "must not be negative"));
        }
        Ok(BoxDecoder {
            rule: Arc::new(rule),
            target: TargetRule { image: image(args), along: along(args)? },
        })
    }

    fn made(&self, numbers: &[f64], shape: &[usize]) -> Result<Value> {
        let fits = match shape {
            [n, 4] => n * 4 == numbers.len(),
            [n] => n % 4 == 0,
            [0, ..] => true,
            _ => false,
        };
        if !fits {
            return Err(Error::sample(format!(
                "boxes have the shape {shape:?}: four numbers each are needed"
            )));
        }
        let boxes = numbers.as_chunks::<4>().0.to_vec();
        Ok(Value::Boxes(Box::new(Boxes::new(boxes, Arc::clone(&self.rule))?)))
    }
}

/// Reads the name of an image.
pub(super) fn image(args: &Args) -> Option<String> {
    args.value("image").and_then(|v| v.as_str()).map(str::to_owned)
}

fn along(args: &Args) -> Result<Option<Vec<String>>> {
    let Some(value) = args.value("along") else { return Ok(None) };
    let names = value.as_array().and_then(|a| a.iter().map(|n| n.as_str().map(str::to_owned)).collect());
    names.map(Some).ok_or_else(|| args.error("along", "must be a list of fields"))
}

fn format(args: &Args, name: &str) -> Result<BoxFormat> {
    match args.text(name)? {
        "xyxy" => Ok(BoxFormat::Xyxy),
        "xywh" => Ok(BoxFormat::Xywh),
        "cxcywh" => Ok(BoxFormat::Cxcywh),
        _ => Err(args.error(name, "must be xyxy, xywh or cxcywh")),
    }
}

impl Decoder for BoxDecoder {
    fn spec(&self, field: &FieldSpec) -> Result<FieldSpec> {
        need_numbers("boxes", field)?;
        Ok(FieldSpec { kind: FieldKind::Boxes, dtype: Dtype::F32, shape: vec![Dim::Any, Dim::Fixed(4)] })
    }

    fn decode(&self, bytes: &Bytes, scratch: &mut Scratch) -> Result<Value> {
        let (numbers, shape) = of_bytes(bytes, plain(), scratch)?;
        self.made(&numbers, &shape)
    }

    fn decode_value(&self, value: Value, _: &mut Scratch) -> Result<Value> {
        let (numbers, shape) = of_value(value)?;
        self.made(&numbers, &shape)
    }

    fn target(&self) -> Option<TargetRule> {
        Some(self.target.clone())
    }
}
