//! Numbers written as text: the class labels of WebDataset's `.cls` files and the like.

use super::needs_encoded;
use infeed_core::{Bytes, Decoder, Dtype, Entry, Error, FieldSpec, Result, Scratch, Tensor, Value, lent};
use infeed_records::preview::preview;
use std::num::IntErrorKind;

#[cfg(test)]
mod tests;

/// Whole numbers.
pub(super) static INT: Entry<dyn Decoder> = Entry {
    name: "int",
    about: "a whole number written as text, as i64",
    params: &[],
    build: |_| Ok(Box::new(Int)),
};

/// Floating-point numbers.
pub(super) static FLOAT: Entry<dyn Decoder> = Entry {
    name: "float",
    about: "a number written as text, as f64",
    params: &[],
    build: |_| Ok(Box::new(Float)),
};

#[derive(Debug)]
struct Int;

impl Decoder for Int {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("int", encoded)?;
        Ok(FieldSpec::scalar(Dtype::I64))
    }

    fn decode(&self, bytes: &Bytes, _: &mut Scratch) -> Result<Value> {
        let bytes = lent::owned(bytes)?;
        let text = number(&bytes, "a whole number")?;
        let value: i64 = text.parse().map_err(|e: std::num::ParseIntError| {
            let shown = preview(&bytes);
            Error::sample(match e.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                    format!("{shown} does not fit in i64")
                }
                _ if text.parse::<f64>().is_ok() => {
                    format!("{shown} is not a whole number: use the decoder `float`")
                }
                _ => format!("{shown} is not a whole number"),
            })
        })?;
        Ok(Value::Tensor(Tensor::int(value)))
    }
}

#[derive(Debug)]
struct Float;

impl Decoder for Float {
    fn spec(&self, encoded: &FieldSpec) -> Result<FieldSpec> {
        needs_encoded("float", encoded)?;
        Ok(FieldSpec::scalar(Dtype::F64))
    }

    fn decode(&self, bytes: &Bytes, _: &mut Scratch) -> Result<Value> {
        let bytes = lent::owned(bytes)?;
        let text = number(&bytes, "a number")?;
        let value: f64 =
            text.parse().map_err(|_| Error::sample(format!("{} is not a number", preview(&bytes))))?;
        Ok(Value::Tensor(Tensor::float(value)))
    }
}

/// Returns the text without surrounding whitespace.
fn number<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    if bytes.trim_ascii().is_empty() {
        return Err(Error::sample(format!("{} is not {what}: there is nothing in it", preview(bytes))));
    }
    std::str::from_utf8(bytes.trim_ascii())
        .map_err(|_| Error::sample(format!("{} is not {what}", preview(bytes))))
}
