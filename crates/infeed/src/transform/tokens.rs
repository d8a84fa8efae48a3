//! What transforms of tokens need: whole numbers in and out of arrays of any element type.

use infeed_core::{Bytes, Dtype, Error, FieldSpec, Kind, Result, Tensor, Value};

/// Refuses anything but a list of whole numbers.
pub(super) fn need_tokens(name: &str, input: &FieldSpec) -> Result<()> {
    if input.kind == Kind::Array && input.shape.len() == 1 && is_whole(input.dtype) {
        return Ok(());
    }
    let cure = match input.kind {
        Kind::Encoded => {
            "; decode it first, for example .decode(txt=\"text\"), and make tokens of it with Tokenize"
        }
        Kind::Text => "; make tokens of it with Tokenize",
        _ => "",
    };
    Err(Error::plan(
        name,
        format!("works on tokens, whole numbers in one dimension, but the field is {input}{cure}"),
    ))
}

fn is_whole(dtype: Dtype) -> bool {
    !dtype.is_float() && dtype != Dtype::Bool
}

/// Refuses a number that the element type cannot hold.
pub(super) fn need_room(name: &str, what: &str, value: i64, dtype: Dtype) -> Result<()> {
    let (least, most) = range(dtype);
    if (least..=most).contains(&i128::from(value)) {
        return Ok(());
    }
    Err(Error::plan(
        name,
        format!(
            "{what} is {value}, which {dtype} cannot hold: use tokens of another type, Tokenize(..., dtype=\"int64\")"
        ),
    ))
}

/// The least and the greatest number of a type.
fn range(dtype: Dtype) -> (i128, i128) {
    let bits = dtype.size() as u32 * 8;
    match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
    }
}

/// The array inside, or an error.
pub(super) fn tensor(value: &mut Value) -> Result<&mut Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(Error::sample(format!("expected tokens, found {}", other.what()))),
    }
}

/// The numbers of an array.
pub(super) fn read(tensor: &Tensor) -> Result<Vec<i64>> {
    macro_rules! numbers {
        ($t:ty) => {
            tensor
                .data
                .chunks_exact(size_of::<$t>())
                .map(|b| i64::try_from(<$t>::from_ne_bytes(b.try_into().unwrap_or_default())))
                .collect::<Result<_, _>>()
                .map_err(|_| Error::sample("a token is greater than 2^63"))
        };
    }
    match tensor.dtype {
        Dtype::U8 => numbers!(u8),
        Dtype::I8 => numbers!(i8),
        Dtype::U16 => numbers!(u16),
        Dtype::I16 => numbers!(i16),
        Dtype::U32 => numbers!(u32),
        Dtype::I32 => numbers!(i32),
        Dtype::U64 => numbers!(u64),
        Dtype::I64 => numbers!(i64),
        other => Err(Error::sample(format!("tokens are whole numbers, not {other}"))),
    }
}

/// An array of such numbers, all of which must fit the type.
pub(super) fn write(dtype: Dtype, numbers: &[i64]) -> Result<Tensor> {
    let (least, most) = range(dtype);
    let size = dtype.size();
    let mut data = Vec::with_capacity(numbers.len() * size);
    for number in numbers {
        if !(least..=most).contains(&i128::from(*number)) {
            return Err(Error::sample(format!("the token {number} does not fit {dtype}")));
        }
        let bytes = number.to_ne_bytes();
        data.extend_from_slice(if cfg!(target_endian = "big") { &bytes[8 - size..] } else { &bytes[..size] });
    }
    Tensor::new(dtype, vec![numbers.len()], Bytes::from(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_every_type() {
        for dtype in Dtype::ALL.into_iter().filter(|d| is_whole(*d)) {
            let (least, most) = range(dtype);
            let ends = [least, 0, 1, most].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
            let made = write(dtype, &ends).unwrap();
            assert_eq!(
                (made.shape.as_slice(), read(&made).unwrap().as_slice()),
                (&[4][..], &ends[..]),
                "{dtype}"
            );
            if dtype.size() < 8 {
                assert!(write(dtype, &[most as i64 + 1]).is_err(), "{dtype}");
            }
        }
        assert!(read(&Tensor::float(1.0)).is_err());
    }
}
