//! Fill values: the elements of chunks that were never written.

use crate::{
    datatype::{Class, Datatype, Native, Order, Scalar},
    error::{Error, Result},
    json::Json,
};

/// The bytes of one element in this machine's byte order. `null` (version 2) leaves it open: it is zeros here, as it is for
/// zarr-python.
pub(crate) fn fill(json: &Json, datatype: &Datatype) -> Result<Vec<u8>> {
    if *json == Json::Null {
        return Ok(vec![0; datatype.size]);
    }
    let wrong = || Error::damaged(format!("the fill value {json} for elements of {datatype}"));
    let mut out = match &datatype.class {
        Class::Number(scalar, _) => number(json, *scalar).ok_or_else(wrong)?,
        Class::Time { .. } if json.text() == Some("NaT") => i64::MIN.to_ne_bytes().to_vec(),
        Class::Time { .. } => number(json, Scalar::I64).ok_or_else(wrong)?,
        Class::Complex(scalar, _) => {
            let (real, imaginary) = match json.list() {
                Some([real, imaginary]) => (real.clone(), imaginary.clone()),
                _ => (json.clone(), Json::Number("0".to_owned())),
            };
            let parts = number(&real, *scalar).zip(number(&imaginary, *scalar));
            let (mut real, imaginary) = parts.ok_or_else(wrong)?;
            real.extend(imaginary);
            real
        }
        Class::Unicode(_) => {
            let text = json.text().or((json.number() == Some(0.0)).then_some("")).ok_or_else(wrong)?;
            text.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect()
        }
        Class::Bytes | Class::Raw | Class::Structure(_) | Class::Array { .. } => {
            let mut raw = match json {
                Json::Text(text) => base64(text).ok_or_else(wrong)?,
                // Lists of bytes are what early writers of version 3 have for raw bits.
                Json::List(list) => {
                    let bytes: Option<Vec<u8>> =
                        list.iter().map(|n| n.count().and_then(|n| u8::try_from(n).ok())).collect();
                    bytes.ok_or_else(wrong)?
                }
                other if other.number() == Some(0.0) => Vec::new(),
                _ => return Err(wrong()),
            };
            if raw.len() > datatype.size {
                return Err(wrong());
            }
            raw.resize(datatype.size, 0);
            if let Some(native) = Native::of(datatype) {
                native.apply(&mut raw);
            }
            raw
        }
    };
    if out.len() > datatype.size {
        return Err(wrong());
    }
    out.resize(datatype.size, 0);
    Ok(out)
}

/// A number: as it is written, by a name, or as the hexadecimal digits of its bytes, the most significant first.
fn number(json: &Json, scalar: Scalar) -> Option<Vec<u8>> {
    if let Json::Text(text) = json
        && let Some(digits) = text.strip_prefix("0x")
    {
        let value = u64::from_str_radix(digits, 16).ok()?;
        let size = scalar.size();
        if digits.len() != size * 2 {
            return None;
        }
        return Some(turned(value.to_le_bytes()[..size].to_vec()));
    }
    if scalar.is_float() {
        let value = match json {
            Json::Number(text) | Json::Text(text) => text.parse::<f64>().ok()?,
            Json::Bool(value) => f64::from(u8::from(*value)),
            _ => return None,
        };
        let narrow = |json: &Json| match json {
            Json::Number(text) | Json::Text(text) => text.parse::<f32>().ok(),
            _ => None,
        };
        return Some(match scalar {
            Scalar::F64 => value.to_ne_bytes().to_vec(),
            Scalar::F32 => narrow(json).unwrap_or(value as f32).to_ne_bytes().to_vec(),
            Scalar::F16 => half::f16::from_f64(value).to_ne_bytes().to_vec(),
            _ => half::bf16::from_f64(value).to_ne_bytes().to_vec(),
        });
    }
    let value: i128 = match json {
        Json::Bool(value) => i128::from(*value),
        Json::Number(text) => text.parse().ok().or_else(|| {
            // Integers that were written as floats.
            let float: f64 = text.parse().ok()?;
            (float.fract() == 0.0 && float.abs() < 1e19).then_some(float as i128)
        })?,
        _ => return None,
    };
    let size = scalar.size();
    let range = match scalar {
        Scalar::Bool => 0..=1,
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
            -(1i128 << (size * 8 - 1))..=(1 << (size * 8 - 1)) - 1
        }
        _ => 0..=(1 << (size * 8)) - 1,
    };
    range.contains(&value).then(|| turned(value.to_le_bytes()[..size].to_vec()))
}

/// Little-endian bytes in this machine's order.
fn turned(mut bytes: Vec<u8>) -> Vec<u8> {
    if crate::datatype::foreign(Order::Little) {
        bytes.reverse();
    }
    bytes
}

/// Decodes base64 with its padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(body.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0);
    for byte in body.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    (count < 6).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str, scalar: Scalar) -> Option<Vec<u8>> {
        let datatype = Datatype::number(scalar, Order::Big);
        fill(&Json::parse(json.as_bytes(), 4).unwrap(), &datatype).ok()
    }

    #[test]
    fn numbers_to_the_last_bit() {
        assert_eq!(of("0.1", Scalar::F64), Some(0.1f64.to_ne_bytes().to_vec()));
        assert_eq!(of("16777217", Scalar::F32), Some(16_777_217f32.to_ne_bytes().to_vec()));
        assert!(f64::from_ne_bytes(of("\"NaN\"", Scalar::F64).unwrap().try_into().unwrap()).is_nan());
        assert_eq!(of("\"-Infinity\"", Scalar::F32), Some(f32::NEG_INFINITY.to_ne_bytes().to_vec()));
        assert_eq!(of("\"0x7fc00001\"", Scalar::F32), Some(0x7fc0_0001u32.to_ne_bytes().to_vec()));
        assert_eq!(of("18446744073709551615", Scalar::U64), Some(vec![255; 8]));
        assert_eq!(of("-128", Scalar::I8), Some(vec![128]));
        assert_eq!(of("null", Scalar::I16), Some(vec![0, 0]));
        for (json, scalar) in [
            ("256", Scalar::U8),
            ("-1", Scalar::U8),
            ("1.5", Scalar::I32),
            ("[]", Scalar::F32),
            ("\"x\"", Scalar::F64),
        ] {
            assert!(of(json, scalar).is_none(), "{json}");
        }
        assert_eq!(base64("aGVsbG8="), Some(b"hello".to_vec()));
        assert!(base64("a!").is_none());
    }
}
