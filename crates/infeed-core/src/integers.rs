//! Arrays of any integer type, as `i64`.

use crate::{Dtype, Error, Result, Tensor};
use bytes::Bytes;

/// Appends the numbers of an integer array to `into`.
pub fn read_integers(tensor: &Tensor, into: &mut Vec<i64>) -> Result<()> {
    let data = &tensor.data;
    macro_rules! read {
        ($t:ty) => {
            into.extend(data.chunks_exact(size_of::<$t>()).map(|bytes| {
                // A chunk has exactly the bytes of one number.
                <$t>::from_ne_bytes(bytes.try_into().unwrap_or_default()) as i64
            }))
        };
    }
    match tensor.dtype {
        Dtype::U8 => into.extend(data.iter().map(|n| i64::from(*n))),
        Dtype::I8 => read!(i8),
        Dtype::U16 => read!(u16),
        Dtype::I16 => read!(i16),
        Dtype::U32 => read!(u32),
        Dtype::I32 => read!(i32),
        Dtype::I64 => read!(i64),
        Dtype::U64 => {
            let start = into.len();
            read!(u64);
            if into[start..].iter().any(|n| *n < 0) {
                return Err(Error::sample("a number is larger than 2^63 - 1"));
            }
        }
        other => return Err(Error::sample(format!("expected whole numbers, found {other}"))),
    }
    Ok(())
}

/// Makes a flat array of an integer type, if all numbers fit.
pub fn write_integers(dtype: Dtype, numbers: impl ExactSizeIterator<Item = i64>) -> Result<Tensor> {
    let count = numbers.len();
    Tensor::new(dtype, vec![count], Bytes::from(integer_bytes(dtype, numbers)?))
}

/// Encodes integers as elements of a type, if all of them fit.
pub fn integer_bytes(dtype: Dtype, mut numbers: impl ExactSizeIterator<Item = i64>) -> Result<Vec<u8>> {
    let mut data = Vec::with_capacity(numbers.len() * dtype.size());
    let unfit = |number: i64| Error::sample(format!("the number {number} does not fit {dtype}"));
    macro_rules! write {
        ($t:ty) => {
            for number in numbers {
                let fitting = <$t>::try_from(number).map_err(|_| unfit(number))?;
                data.extend_from_slice(&fitting.to_ne_bytes());
            }
        };
    }
    match dtype {
        Dtype::U8 => write!(u8),
        Dtype::I8 => write!(i8),
        Dtype::U16 => write!(u16),
        Dtype::I16 => write!(i16),
        Dtype::U32 => write!(u32),
        Dtype::I32 => write!(i32),
        Dtype::U64 => write!(u64),
        Dtype::I64 => write!(i64),
        _ => {
            if let Some(number) = numbers.next() {
                return Err(unfit(number));
            }
        }
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPES: [Dtype; 8] =
        [Dtype::U8, Dtype::I8, Dtype::U16, Dtype::I16, Dtype::U32, Dtype::I32, Dtype::U64, Dtype::I64];

    proptest! {
        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(any::<i64>(), 0..20), bits in 0u32..63) {
            for dtype in TYPES {
                let fitting: Vec<i64> =
                    numbers.iter().map(|n| n >> bits).filter(|n| dtype.holds(*n)).collect();
                let tensor = write_integers(dtype, fitting.iter().copied()).unwrap();
                let mut back = vec![];
                read_integers(&tensor, &mut back).unwrap();
                prop_assert_eq!(back, fitting);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(write_integers(Dtype::U16, [65536].into_iter()).is_err());
        assert!(write_integers(Dtype::U8, [-1].into_iter()).is_err());
        assert!(write_integers(Dtype::F32, [1].into_iter()).is_err());
        assert!(read_integers(&Tensor::float(1.0), &mut vec![]).is_err());
    }
}
