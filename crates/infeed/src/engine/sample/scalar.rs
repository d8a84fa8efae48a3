//! Values as filters compare them.

use crate::order::filter::Scalar;
use infeed_core::{Dtype, Error, Result, Value};

/// Converts a value to what filters compare.
pub(super) fn scalar(value: &Value, part: Option<&str>) -> Result<Scalar<'static>> {
    Ok(match value {
        Value::Missing => Scalar::None,
        Value::Text(text) => Scalar::Text(text.to_string().into()),
        Value::Json(text) => json(text, part)?,
        Value::Image(image) => {
            Scalar::Int(i64::from(if part == Some("width") { image.width() } else { image.height() }))
        }
        Value::Tensor(t) => number(t.dtype, &t.data)?,
        other => return Err(Error::sample(format!("a filter cannot compare {}", other.what()))),
    })
}

fn number(dtype: Dtype, data: &[u8]) -> Result<Scalar<'static>> {
    macro_rules! read {
        ($t:ty) => {
            <$t>::from_ne_bytes(
                data.try_into()
                    .map_err(|_| Error::sample("a filter compares single numbers, and this is an array"))?,
            )
        };
    }
    Ok(match dtype {
        Dtype::Bool => Scalar::Bool(read!(u8) != 0),
        Dtype::U8 => Scalar::Int(read!(u8).into()),
        Dtype::I8 => Scalar::Int(read!(i8).into()),
        Dtype::U16 => Scalar::Int(read!(u16).into()),
        Dtype::I16 => Scalar::Int(read!(i16).into()),
        Dtype::U32 => Scalar::Int(read!(u32).into()),
        Dtype::I32 => Scalar::Int(read!(i32).into()),
        Dtype::U64 => {
            let n = read!(u64);
            i64::try_from(n).map_or(Scalar::Float(n as f64), Scalar::Int)
        }
        Dtype::I64 => Scalar::Int(read!(i64)),
        Dtype::F16 => Scalar::Float(half::f16::from_bits(read!(u16)).into()),
        Dtype::Bf16 => Scalar::Float(half::bf16::from_bits(read!(u16)).into()),
        Dtype::F32 => Scalar::Float(read!(f32).into()),
        Dtype::F64 => Scalar::Float(read!(f64)),
    })
}

/// Looks up a path such as `a.b.0` in a JSON value.
fn json(text: &str, part: Option<&str>) -> Result<Scalar<'static>> {
    let whole: serde_json::Value =
        serde_json::from_str(text).map_err(|e| Error::sample(format!("not JSON: {e}")))?;
    let mut found = Some(&whole);
    for step in part.into_iter().flat_map(|p| p.split('.')) {
        found = found.and_then(|v| match v {
            serde_json::Value::Array(list) => step.parse::<usize>().ok().and_then(|i| list.get(i)),
            other => other.get(step),
        });
    }
    Ok(match found {
        None | Some(serde_json::Value::Null) => Scalar::None,
        Some(serde_json::Value::Bool(b)) => Scalar::Bool(*b),
        Some(serde_json::Value::String(s)) => Scalar::Text(s.clone().into()),
        Some(serde_json::Value::Number(n)) => {
            n.as_i64().map_or_else(|| Scalar::Float(n.as_f64().unwrap_or(f64::NAN)), Scalar::Int)
        }
        Some(_) => {
            return Err(Error::sample("a filter cannot compare a list or an object: name a part of it"));
        }
    })
}
