//! Numbers of any kind of field, for decoders that take what is there: `.npy` bytes, JSON, arrays of tables.

use infeed_core::{Bytes, Decoder, Dtype, Error, FieldKind, FieldSpec, Result, Scratch, Tensor, Value};
use serde_json::Value as Json;

/// Refuses fields that hold no numbers.
pub(super) fn need_numbers(name: &str, field: &FieldSpec) -> Result<()> {
    match field.kind {
        FieldKind::Encoded | FieldKind::Json | FieldKind::Text | FieldKind::Array => Ok(()),
        _ => Err(Error::plan(
            format!("decode {name}"),
            format!("takes arrays, JSON and .npy, and the field is {field}"),
        )),
    }
}

/// Returns the numbers of a field that is bytes: `.npy`, or JSON text.
pub(super) fn of_bytes(
    bytes: &Bytes,
    npy: &dyn Decoder,
    scratch: &mut Scratch,
) -> Result<(Vec<f64>, Vec<usize>)> {
    if bytes.starts_with(b"\x93NUMPY") {
        let value = npy.decode(bytes, scratch)?;
        return of_value(value);
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| Error::sample("neither JSON nor .npy: it is no text"))?;
    of_json(text)
}

/// Returns the numbers and the shape of a value.
pub(super) fn of_value(value: Value) -> Result<(Vec<f64>, Vec<usize>)> {
    match value {
        Value::Tensor(tensor) => Ok((of_tensor(&tensor), tensor.shape)),
        Value::Json(text) | Value::Text(text) => of_json(&text),
        Value::Missing => Err(Error::sample(
            "the sample has no such field; on_error=\"skip\" leaves such samples out, and an empty list means that there are none",
        )),
        other => Err(Error::sample(format!("expected numbers, found {}", other.what()))),
    }
}

fn of_json(text: &str) -> Result<(Vec<f64>, Vec<usize>)> {
    let whole: Json = serde_json::from_str(text).map_err(|e| Error::sample(format!("not JSON: {e}")))?;
    let (mut numbers, mut shape) = (vec![], vec![]);
    flatten(&whole, 0, &mut shape, &mut numbers)?;
    Ok((numbers, shape))
}

/// Appends nested lists of numbers; all lists of a level have the same length.
fn flatten(value: &Json, depth: usize, shape: &mut Vec<usize>, numbers: &mut Vec<f64>) -> Result<()> {
    match value {
        Json::Array(list) => {
            if shape.len() == depth {
                shape.push(list.len());
            } else if shape[depth] != list.len() {
                return Err(Error::sample(format!(
                    "lists of {} and of {} numbers side by side: all must be of one length",
                    shape[depth],
                    list.len()
                )));
            }
            list.iter().try_for_each(|item| flatten(item, depth + 1, shape, numbers))
        }
        Json::Number(n) if shape.len() == depth => {
            numbers.push(n.as_f64().unwrap_or(f64::NAN));
            Ok(())
        }
        other => Err(Error::sample(format!("expected lists of numbers, found {other}"))),
    }
}

fn of_tensor(tensor: &Tensor) -> Vec<f64> {
    macro_rules! read {
        ($t:ty) => {
            tensor
                .data
                .chunks_exact(size_of::<$t>())
                .map(|b| <$t>::from_ne_bytes(b.try_into().unwrap_or_default()) as f64)
                .collect()
        };
    }
    match tensor.dtype {
        Dtype::Bool | Dtype::U8 => read!(u8),
        Dtype::I8 => read!(i8),
        Dtype::U16 => read!(u16),
        Dtype::I16 => read!(i16),
        Dtype::U32 => read!(u32),
        Dtype::I32 => read!(i32),
        Dtype::U64 => read!(u64),
        Dtype::I64 => read!(i64),
        Dtype::F16 => {
            tensor.data.chunks_exact(2).map(|b| half::f16::from_ne_bytes([b[0], b[1]]).to_f64()).collect()
        }
        Dtype::Bf16 => {
            tensor.data.chunks_exact(2).map(|b| half::bf16::from_ne_bytes([b[0], b[1]]).to_f64()).collect()
        }
        Dtype::F32 => read!(f32),
        Dtype::F64 => read!(f64),
    }
}
