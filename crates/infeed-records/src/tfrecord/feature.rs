//! Converts features to fields.

use super::example::Feature;
use crate::Guess;
use infeed_core::{Bytes, Dim, Dtype, Error, FieldSpec, Result, Tensor, Value, integer_bytes};

/// The target type of a feature: `bytes`, `text`, `int64` (one number), `int64[]` (a list), `float32[2,3]` (an array).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureKind {
    /// The spec of the field.
    pub spec: FieldSpec,
}

impl FeatureKind {
    /// Parses a type as written by users.
    pub fn parse(text: &str) -> Option<FeatureKind> {
        let (name, shape) = match text.trim().split_once('[') {
            Some((name, shape)) => (name.trim(), Some(shape.strip_suffix(']')?)),
            None => (text.trim(), None),
        };
        let spec = match (name, shape) {
            ("bytes", None) => FieldSpec::encoded(),
            ("text" | "str" | "string", None) => FieldSpec::text(),
            (name, shape) => {
                let dim = |word: &str| match word.trim() {
                    "" | "?" | "None" => Some(Dim::Any),
                    number => number.parse().ok().map(Dim::Fixed),
                };
                let shape = shape.map_or(Some(vec![]), |shape| shape.split(',').map(dim).collect())?;
                // With several unknown sizes, none can be inferred.
                if shape.iter().filter(|d| **d == Dim::Any).count() > 1 {
                    return None;
                }
                FieldSpec::array(Dtype::parse(name)?, shape)
            }
        };
        Some(FeatureKind { spec })
    }
}

/// Infers the type of a feature.
pub fn guess(feature: &Feature<'_>) -> Option<Guess> {
    let floats = |all: &[&[u8]]| all.iter().map(|piece| piece.len() / 4).sum::<usize>();
    Some(match feature {
        Feature::Nothing => Guess::Unknown,
        Feature::Bytes(all) if all.len() == 1 => Guess::Bytes,
        Feature::Bytes(all) if all.is_empty() => Guess::Unknown,
        Feature::Bytes(_) => return None,
        Feature::Ints(all) => match all.len() {
            0 => Guess::Empty,
            1 => Guess::Int,
            _ => Guess::Ints,
        },
        Feature::Floats(all) => match floats(all) {
            0 => Guess::Empty,
            1 => Guess::Single,
            _ => Guess::Singles,
        },
    })
}

/// Makes a field of a feature. Bytes are shared with the record.
pub fn value(feature: Feature<'_>, kind: &FeatureKind, record: &Bytes) -> Result<Value> {
    let spec = &kind.spec;
    let differs = |found: String| Error::sample(format!("expected {spec}, found {found}"));
    let data = match (feature, spec.kind) {
        (Feature::Nothing, _) => return Ok(Value::Missing),
        (Feature::Bytes(all), infeed_core::FieldKind::Encoded | infeed_core::FieldKind::Text) => {
            let [only] = all.as_slice() else {
                return if all.is_empty() {
                    Ok(Value::Missing)
                } else {
                    Err(differs(format!("{} byte strings", all.len())))
                };
            };
            let bytes = record.slice(only.clone());
            if spec.kind == infeed_core::FieldKind::Encoded {
                return Ok(Value::Bytes(bytes));
            }
            return crate::text::decode(&bytes, crate::text::Invalid::Refuse)
                .map(|t| Value::Text(t.into_owned()));
        }
        (Feature::Bytes(all), _) => return Err(differs(format!("{} byte strings", all.len()))),
        (_, infeed_core::FieldKind::Encoded | infeed_core::FieldKind::Text) => {
            return Err(differs("numbers".to_owned()));
        }
        (Feature::Ints(all), _) => {
            ints(&all, spec.dtype).ok_or_else(|| differs("whole numbers that do not fit".to_owned()))?
        }
        (Feature::Floats(all), _) => {
            floats(&all, spec.dtype).ok_or_else(|| differs("numbers with fractions".to_owned()))?
        }
    };
    let count = data.len() / spec.dtype.size();
    let known: usize = spec.shape.iter().map(|d| if let Dim::Fixed(n) = d { *n } else { 1 }).product();
    let size = |d: &Dim| match d {
        Dim::Fixed(n) => *n,
        Dim::Any => count.checked_div(known).unwrap_or(0),
    };
    let shape: Vec<usize> = spec.shape.iter().map(size).collect();
    if shape.iter().product::<usize>() != count {
        return Err(differs(format!("{count} numbers")));
    }
    Ok(Value::Tensor(Tensor { dtype: spec.dtype, shape, data: data.into() }))
}

fn ints(all: &[i64], dtype: Dtype) -> Option<Vec<u8>> {
    match dtype {
        Dtype::Bool => all.iter().map(|n| u8::try_from(*n).ok().filter(|n| *n < 2)).collect(),
        Dtype::F64 => Some(all.iter().flat_map(|n| (*n as f64).to_ne_bytes()).collect()),
        Dtype::F32 => Some(all.iter().flat_map(|n| (*n as f32).to_ne_bytes()).collect()),
        Dtype::F16 | Dtype::Bf16 => None,
        _ => integer_bytes(dtype, all.iter().copied()).ok(),
    }
}

fn floats(all: &[&[u8]], dtype: Dtype) -> Option<Vec<u8>> {
    let numbers = || all.iter().flat_map(|piece| piece.as_chunks::<4>().0).map(|b| f32::from_le_bytes(*b));
    Some(match dtype {
        Dtype::F32 => match all {
            [one] if cfg!(target_endian = "little") => one.to_vec(),
            _ => numbers().flat_map(f32::to_ne_bytes).collect(),
        },
        Dtype::F64 => numbers().flat_map(|x| f64::from(x).to_ne_bytes()).collect(),
        Dtype::F16 => numbers().flat_map(|x| half::f16::from_f32(x).to_ne_bytes()).collect(),
        Dtype::Bf16 => numbers().flat_map(|x| half::bf16::from_f32(x).to_ne_bytes()).collect(),
        _ => return None,
    })
}
