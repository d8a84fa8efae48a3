//! Column encodings.

use infeed_core::{Bytes, Dim, Dtype, Error, FieldSpec, Result, Tensor, Value};

/// An encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoding {
    /// Raw bytes: `bytes`, `jpeg`, `png`, and encodings that only Python can read (`pkl`, `pil`, lists of images).
    Bytes,
    /// `str`, and decimal numbers written as text to keep every digit (`str_decimal`).
    Text,
    /// `json`
    Json,
    /// `int`, `uint8`, ..., `float64`
    Number(Dtype),
    /// `str_int`, `str_float`: a number written as text
    Written(Dtype),
    /// `ndarray`, `ndarray:int32`, `ndarray:int32:3,4`
    Array(Option<Dtype>, Option<Vec<usize>>),
}

/// Element types of arrays, by their code.
const TYPES: [(u8, Dtype); 11] = [
    (8, Dtype::U8),
    (9, Dtype::I8),
    (16, Dtype::U16),
    (17, Dtype::I16),
    (18, Dtype::F16),
    (32, Dtype::U32),
    (33, Dtype::I32),
    (34, Dtype::F32),
    (64, Dtype::U64),
    (65, Dtype::I64),
    (66, Dtype::F64),
];

impl Encoding {
    /// Parses the encoding named in an index.
    pub fn parse(text: &str) -> Option<Encoding> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        if name == "ndarray" {
            let mut rest = rest.unwrap_or_default().split(':');
            let dtype = match rest.next().unwrap_or_default() {
                "" => None,
                name => Some(Dtype::parse(name).filter(|d| TYPES.iter().any(|(_, known)| known == d))?),
            };
            let shape = match rest.next() {
                None => None,
                Some(shape) => {
                    Some(shape.split(',').map(|n| n.parse().ok()).collect::<Option<Vec<usize>>>()?)
                }
            };
            return Some(Encoding::Array(dtype, shape));
        }
        Some(match name {
            "bytes" | "jpeg" | "png" | "pil" | "pkl" | "jpeg_array" | "jpegarray" | "list[pil]"
            | "list[jpeg]" | "list[png]" => Encoding::Bytes,
            "str" | "str_decimal" => Encoding::Text,
            "json" => Encoding::Json,
            "int" => Encoding::Number(Dtype::I64),
            "str_int" => Encoding::Written(Dtype::I64),
            "str_float" => Encoding::Written(Dtype::F64),
            "uint8" | "uint16" | "uint32" | "uint64" | "int8" | "int16" | "int32" | "int64" | "float16"
            | "float32" | "float64" => Encoding::Number(Dtype::parse(name)?),
            _ => return None,
        })
    }

    /// Returns the spec of a column.
    pub fn spec(&self) -> FieldSpec {
        match self {
            Encoding::Bytes => FieldSpec::encoded(),
            Encoding::Text => FieldSpec::text(),
            Encoding::Json => FieldSpec::json(),
            Encoding::Number(dtype) | Encoding::Written(dtype) => FieldSpec::scalar(*dtype),
            Encoding::Array(Some(dtype), Some(shape)) => {
                FieldSpec::array(*dtype, shape.iter().map(|n| Dim::Fixed(*n)).collect())
            }
            // The number of dimensions is stored in each sample.
            Encoding::Array(dtype, _) => FieldSpec::array(dtype.unwrap_or(Dtype::F64), vec![Dim::Any]),
        }
    }

    /// Returns the size of a value in bytes, if it is fixed.
    pub fn size(&self) -> Option<usize> {
        match self {
            Encoding::Number(dtype) => Some(dtype.size()),
            Encoding::Array(Some(dtype), Some(shape)) => {
                shape.iter().try_fold(dtype.size(), |size, n| size.checked_mul(*n))
            }
            _ => None,
        }
    }
}

/// Decodes a field from the bytes of a column. Arrays share memory with the sample if possible.
pub fn decode(bytes: &Bytes, encoding: &Encoding) -> Result<Value> {
    let text = || {
        let text = std::str::from_utf8(bytes).map_err(|e| crate::text::not_text(bytes, e.valid_up_to()))?;
        Ok::<_, Error>(text.to_owned())
    };
    Ok(match encoding {
        Encoding::Bytes => Value::Bytes(bytes.clone()),
        Encoding::Text => Value::Text(text()?),
        Encoding::Json => {
            let text = text()?;
            serde_json::from_str::<serde::de::IgnoredAny>(&text)
                .map_err(|e| Error::sample(format!("not JSON: {e}")))?;
            Value::Json(text)
        }
        Encoding::Number(dtype) => Value::Tensor(Tensor::new(*dtype, vec![], native(bytes.clone(), *dtype))?),
        Encoding::Written(dtype) => match crate::csv::parse(bytes, *dtype)? {
            Some(number) => Value::Tensor(Tensor::new(*dtype, vec![], number.into())?),
            None => Value::Missing,
        },
        Encoding::Array(dtype, shape) => array(bytes, *dtype, shape.as_deref())?,
    })
}

fn array(bytes: &Bytes, dtype: Option<Dtype>, shape: Option<&[usize]>) -> Result<Value> {
    let short = || Error::sample("the array is cut off");
    let mut at = 0;
    let mut next = |count: usize| {
        let piece = bytes.get(at..at + count).ok_or_else(short)?;
        at += count;
        Ok::<_, Error>(piece)
    };
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => {
            let number = next(1)?[0];
            let known = TYPES.iter().find(|(known, _)| *known == number);
            known.ok_or_else(|| Error::sample(format!("there is no element type {number}")))?.1
        }
    };
    let shape = match shape {
        Some(shape) => shape.to_vec(),
        None => {
            let byte = next(1)?[0];
            let size = 1usize << (byte & 3);
            let numbers = next(usize::from(byte >> 2) * size)?;
            let number = |bytes: &[u8]| {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                usize::try_from(u64::from_le_bytes(word)).unwrap_or(usize::MAX)
            };
            numbers.chunks_exact(size).map(number).collect()
        }
    };
    Ok(Value::Tensor(Tensor::new(dtype, shape, native(bytes.slice(at..), dtype))?))
}

/// Converts little-endian numbers to native byte order.
fn native(bytes: Bytes, dtype: Dtype) -> Bytes {
    if cfg!(target_endian = "little") || dtype.size() == 1 {
        return bytes;
    }
    bytes.chunks(dtype.size()).flat_map(|number| number.iter().rev().copied()).collect()
}
