//! The value that patches are filled up with, as bytes of an element.

use half::{bf16, f16};
use infeed_core::Dtype;

/// The bytes of a number; `None` if the type does not have it.
pub(super) fn bytes(value: f64, dtype: Dtype) -> Option<Vec<u8>> {
    let whole = || {
        let number = value as i128;
        let fits = dtype.range().is_some_and(|(low, high)| (low..=high).contains(&number));
        (fits && number as f64 == value).then_some(number)
    };
    Some(match dtype {
        Dtype::Bool if value == 0.0 || value == 1.0 => vec![u8::from(value == 1.0)],
        Dtype::Bool => return None,
        Dtype::F16 => f16::from_f64(value).to_ne_bytes().to_vec(),
        Dtype::Bf16 => bf16::from_f64(value).to_ne_bytes().to_vec(),
        Dtype::F32 => (value as f32).to_ne_bytes().to_vec(),
        Dtype::F64 => value.to_ne_bytes().to_vec(),
        _ => {
            // Two's complement, so that the low bytes are the number in any of the types.
            let all = whole()?.to_le_bytes();
            let mut own = all[..dtype.size()].to_vec();
            if cfg!(target_endian = "big") {
                own.reverse();
            }
            own
        }
    })
}

/// Writes an element over and over.
pub(super) fn repeat(element: &[u8], out: &mut [u8]) {
    if element.iter().all(|byte| *byte == 0) {
        out.fill(0);
    } else {
        out.chunks_exact_mut(element.len()).for_each(|one| one.copy_from_slice(element));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type() {
        assert_eq!(bytes(-1.0, Dtype::I16).unwrap(), (-1i16).to_ne_bytes());
        assert_eq!(bytes(255.0, Dtype::U8).unwrap(), [255]);
        assert_eq!(bytes(-1.5, Dtype::F32).unwrap(), (-1.5f32).to_ne_bytes());
        assert_eq!(bytes(0.5, Dtype::F16).unwrap(), f16::from_f32(0.5).to_ne_bytes());
        assert_eq!(bytes(7.0, Dtype::I64).unwrap(), 7i64.to_ne_bytes());
        for (value, dtype) in [(-1.0, Dtype::U8), (256.0, Dtype::U8), (0.5, Dtype::I32), (2.0, Dtype::Bool)] {
            assert_eq!(bytes(value, dtype), None);
        }
        let mut out = [9; 7];
        repeat(&[1, 2], &mut out);
        assert_eq!(out, [1, 2, 1, 2, 1, 2, 9]);
    }
}
