//! `Truncate`: cuts arrays to a maximum length.

use super::sequence::{Side, side, tensor};
use infeed_core::{Args, Context, Dim, Entry, Error, FieldKind, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "Truncate",
    about: "cut arrays to at most this length along their first dimension",
    params: &[
        Param { name: "length", python: "int", default: None, about: "most elements that stay" },
        Param {
            name: "side",
            python: "str",
            default: Some("\"right\""),
            about: "which end is cut off: right or left",
        },
    ],
    build,
};

#[derive(Debug)]
struct Truncate {
    length: usize,
    side: Side,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    Ok(Box::new(Truncate { length: args.int("length", 1)? as usize, side: side(args, "side")? }))
}

/// Refuses fields without a first dimension.
pub(super) fn need_array(name: &str, input: &FieldSpec) -> Result<()> {
    if input.kind == FieldKind::Array && !input.shape.is_empty() {
        return Ok(());
    }
    let cure = match input.kind {
        FieldKind::Encoded => "; decode it first",
        FieldKind::Text => "; make tokens of it with Tokenize",
        _ => "",
    };
    Err(Error::plan(name, format!("works on arrays, but the field is {input}{cure}")))
}

impl Transform for Truncate {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("Truncate", input)?;
        let mut out = input.clone();
        if let Some(Dim::Fixed(n)) = out.shape.first_mut() {
            *n = self.length.min(*n);
        }
        Ok(out)
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let Some(first) = tensor.shape.first_mut() else {
            return Err(Error::sample("Truncate works on arrays, and this is a single number"));
        };
        if *first <= self.length {
            return Ok(());
        }
        let kept = tensor.data.len() / *first * self.length;
        *first = self.length;
        tensor.data = match self.side {
            Side::Right => tensor.data.slice(..kept),
            Side::Left => tensor.data.slice(tensor.data.len() - kept..),
        };
        Ok(())
    }
}
