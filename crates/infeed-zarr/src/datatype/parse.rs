//! Reads data types: NumPy's strings and lists of version 2, and the names of version 3.

use super::{Class, Datatype, Field, MOST_BYTES, Order, Scalar};
use crate::{
    error::{Error, Result},
    json::Json,
};

/// A data type of version 2; `depth` is how many may still be inside each other.
pub(crate) fn numpy(json: &Json, depth: u32) -> Result<Datatype> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::damaged("data types are nested too deep"));
    };
    match json {
        Json::Text(text) => string(text),
        Json::List(fields) => {
            let field = |field: &Json| {
                let wrong = || Error::damaged(format!("`{field}` is no field of a structure"));
                let parts = field.list().ok_or_else(wrong)?;
                let [Json::Text(name), kind, shape @ ..] = parts else { return Err(wrong()) };
                let base = numpy(kind, depth)?;
                let shape: Option<Vec<u64>> = match shape {
                    [] => Some(Vec::new()),
                    [Json::List(shape)] => shape.iter().map(Json::count).collect(),
                    [one] => one.count().map(|n| vec![n]),
                    _ => None,
                };
                Ok((name.clone(), within(base, shape.ok_or_else(wrong)?)?))
            };
            structure(fields.iter().map(field).collect::<Result<_>>()?)
        }
        other => Err(Error::unsupported(format!("the data type {other}"))),
    }
}

/// An array of a shape in every element.
fn within(base: Datatype, shape: Vec<u64>) -> Result<Datatype> {
    if shape.is_empty() {
        return Ok(base);
    }
    let size =
        shape.iter().try_fold(base.size as u64, |all, &n| all.checked_mul(n).filter(|n| *n <= MOST_BYTES));
    let size =
        size.filter(|n| *n > 0).ok_or_else(|| Error::damaged(format!("a field of shape {shape:?}")))?;
    Ok(Datatype { size: size as usize, class: Class::Array { shape, base: Box::new(base) } })
}

/// Fields behind each other, without gaps.
fn structure(parts: Vec<(String, Datatype)>) -> Result<Datatype> {
    let (mut fields, mut size) = (Vec::new(), 0);
    for (name, datatype) in parts {
        let offset = size;
        size += datatype.size;
        fields.push(Field { name, offset, datatype });
    }
    if size == 0 || size as u64 > MOST_BYTES {
        return Err(Error::damaged(format!("a structure of {size} bytes")));
    }
    Ok(Datatype { size, class: Class::Structure(fields) })
}

/// NumPy's string: byte order, kind, size.
fn string(text: &str) -> Result<Datatype> {
    let unknown = || {
        let why = if text.ends_with('O') {
            ": Python objects and texts of any length have no fixed size; write them with a fixed one"
        } else {
            ""
        };
        Error::unsupported(format!("the data type `{text}`{why}"))
    };
    let mut rest = text.chars();
    let order = match rest.next() {
        Some('>') => Order::Big,
        Some('<' | '|' | '=') => Order::Little,
        _ => return Err(unknown()),
    };
    let kind = rest.next().ok_or_else(unknown)?;
    let rest = rest.as_str();
    if matches!(kind, 'M' | 'm') {
        let unit = rest.strip_prefix('8').ok_or_else(unknown)?;
        let unit = unit.trim_start_matches('[').trim_end_matches(']').to_owned();
        return Ok(Datatype { size: 8, class: Class::Time { span: kind == 'm', unit, order } });
    }
    let size: u64 = rest.parse().map_err(|_| unknown())?;
    let scalar = |scalar| Ok(Datatype::number(scalar, order));
    match (kind, size) {
        ('b', 1) => scalar(Scalar::Bool),
        ('i', 1) => scalar(Scalar::I8),
        ('i', 2) => scalar(Scalar::I16),
        ('i', 4) => scalar(Scalar::I32),
        ('i', 8) => scalar(Scalar::I64),
        ('u', 1) => scalar(Scalar::U8),
        ('u', 2) => scalar(Scalar::U16),
        ('u', 4) => scalar(Scalar::U32),
        ('u', 8) => scalar(Scalar::U64),
        ('f', 2) => scalar(Scalar::F16),
        ('f', 4) => scalar(Scalar::F32),
        ('f', 8) => scalar(Scalar::F64),
        ('c', 8) => Ok(Datatype { size: 8, class: Class::Complex(Scalar::F32, order) }),
        ('c', 16) => Ok(Datatype { size: 16, class: Class::Complex(Scalar::F64, order) }),
        ('S', n) => sized(n, Class::Bytes),
        ('V', n) => sized(n, Class::Raw),
        ('U', n) => sized(n.saturating_mul(4), Class::Unicode(order)),
        _ => Err(unknown()),
    }
}

fn sized(size: u64, class: Class) -> Result<Datatype> {
    if size == 0 || size > MOST_BYTES {
        return Err(Error::unsupported(format!("elements of {size} bytes")));
    }
    Ok(Datatype { size: size as usize, class })
}

/// A data type of version 3; `depth` is how many may still be inside each other. Byte orders are told by the codec `bytes`.
pub(crate) fn named(json: &Json, depth: u32) -> Result<Datatype> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::damaged("data types are nested too deep"));
    };
    let (name, settings) = match json {
        Json::Text(name) => (name.as_str(), None),
        other => (other.get("name").and_then(Json::text).unwrap_or_default(), other.get("configuration")),
    };
    let unknown = || Error::unsupported(format!("the data type {json}"));
    let setting = |name: &str| settings.and_then(|settings| settings.get(name));
    let length = || setting("length_bytes").and_then(Json::count).ok_or_else(unknown);
    let number = |scalar| Ok(Datatype::number(scalar, Order::Little));
    match name {
        "bool" => number(Scalar::Bool),
        "int8" => number(Scalar::I8),
        "int16" => number(Scalar::I16),
        "int32" => number(Scalar::I32),
        "int64" => number(Scalar::I64),
        "uint8" => number(Scalar::U8),
        "uint16" => number(Scalar::U16),
        "uint32" => number(Scalar::U32),
        "uint64" => number(Scalar::U64),
        "float16" => number(Scalar::F16),
        "bfloat16" => number(Scalar::BF16),
        "float32" => number(Scalar::F32),
        "float64" => number(Scalar::F64),
        "complex64" | "complex_float32" => {
            Ok(Datatype { size: 8, class: Class::Complex(Scalar::F32, Order::Little) })
        }
        "complex128" | "complex_float64" => {
            Ok(Datatype { size: 16, class: Class::Complex(Scalar::F64, Order::Little) })
        }
        "null_terminated_bytes" => sized(length()?, Class::Bytes),
        "raw_bytes" => sized(length()?, Class::Raw),
        "fixed_length_utf32" => {
            let size = length()?;
            if size % 4 != 0 {
                return Err(unknown());
            }
            sized(size, Class::Unicode(Order::Little))
        }
        "numpy.datetime64" | "numpy.timedelta64" => {
            let unit = setting("unit").and_then(Json::text).ok_or_else(unknown)?;
            let factor = setting("scale_factor").and_then(Json::count).unwrap_or(1);
            let unit = if factor == 1 { unit.to_owned() } else { format!("{factor}{unit}") };
            let span = name == "numpy.timedelta64";
            Ok(Datatype { size: 8, class: Class::Time { span, unit, order: Order::Little } })
        }
        "structured" | "struct" => {
            let field = |field: &Json| match field {
                Json::List(pair) => match &pair[..] {
                    [Json::Text(name), kind] => Ok((name.clone(), named(kind, depth)?)),
                    _ => Err(unknown()),
                },
                other => match (other.get("name"), other.get("data_type")) {
                    (Some(Json::Text(name)), Some(kind)) => Ok((name.clone(), named(kind, depth)?)),
                    _ => Err(unknown()),
                },
            };
            let fields = setting("fields").and_then(Json::list).ok_or_else(unknown)?;
            structure(fields.iter().map(field).collect::<Result<_>>()?)
        }
        _ => match name.strip_prefix('r').and_then(|bits| bits.parse::<u64>().ok()) {
            Some(bits) if bits % 8 == 0 => sized(bits / 8, Class::Raw),
            _ => Err(unknown()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_both_versions() {
        let text = |text: &str| Json::parse(text.as_bytes(), 16).unwrap();
        let shown = |json: &str| numpy(&text(json), 8).unwrap().to_string();
        assert_eq!(shown("\">i4\""), ">i32");
        assert_eq!(shown("\"|b1\""), "bool");
        assert_eq!(shown("\"<M8[10s]\""), "<datetime[10s]");
        assert_eq!(
            shown(r#"[["a", "<i4"], ["b", ">f4", [2]], ["c", [["d", "|S3"], ["e", "<U2"]]]]"#),
            "{a: <i32, b: array [2] of >f32, c: {d: text of 3 bytes, e: <text of 2 characters}}"
        );
        for wrong in
            ["\"|O\"", "\"<i3\"", "\"\"", "\"<f16\"", "[]", "[[1]]", "{}", "\"|S99999999999\"", "\"|S0\""]
        {
            assert!(numpy(&text(wrong), 8).is_err(), "{wrong}");
        }
        assert!(numpy(&text("\"|O\""), 8).unwrap_err().to_string().contains("`|O`"));
        assert_eq!(named(&text("\"r24\""), 8).unwrap().size, 3);
        assert!(named(&text("\"string\""), 8).unwrap_err().to_string().contains("string"));
        let fields =
            r#"{"name": "structured", "configuration": {"fields": [["a", "int32"], ["b", "float16"]]}}"#;
        assert_eq!(named(&text(fields), 8).unwrap().to_string(), "{a: <i32, b: <f16}");
        assert!(named(&text(fields), 1).is_err());
    }
}
