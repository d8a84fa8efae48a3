//! Numbers as elements of arrays.

use infeed_core::Dtype;

/// Encodes a number as an element; the bytes after it are zero.
pub(super) fn encode(dtype: Dtype, x: f64) -> [u8; 8] {
    let mut out = [0; 8];
    let bytes: &[u8] = match dtype {
        Dtype::Bool => &[u8::from(x != 0.0)],
        Dtype::U8 => &[x as u8],
        Dtype::I8 => &(x as i8).to_ne_bytes(),
        Dtype::U16 => &(x as u16).to_ne_bytes(),
        Dtype::I16 => &(x as i16).to_ne_bytes(),
        Dtype::U32 => &(x as u32).to_ne_bytes(),
        Dtype::I32 => &(x as i32).to_ne_bytes(),
        Dtype::U64 => &(x as u64).to_ne_bytes(),
        Dtype::I64 => &(x as i64).to_ne_bytes(),
        Dtype::F16 => &half::f16::from_f64(x).to_ne_bytes(),
        Dtype::Bf16 => &half::bf16::from_f64(x).to_ne_bytes(),
        Dtype::F32 => &(x as f32).to_ne_bytes(),
        Dtype::F64 => &x.to_ne_bytes(),
    };
    out[..bytes.len()].copy_from_slice(bytes);
    out
}

/// Whether an element can be this number: exactly if it is an integer, rounded if it is a float.
pub(super) fn holds(dtype: Dtype, x: f64) -> bool {
    match dtype {
        Dtype::Bool => x == 0.0 || x == 1.0,
        Dtype::F16 => half::f16::from_f64(x).is_finite() || !x.is_finite(),
        Dtype::Bf16 => half::bf16::from_f64(x).is_finite() || !x.is_finite(),
        Dtype::F32 => (x as f32).is_finite() || !x.is_finite(),
        Dtype::F64 => true,
        // Numbers beyond i64 are compared as u64; 2^64 itself saturates and must not count as held.
        Dtype::U64 => x.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&x),
        _ => x.fract() == 0.0 && x.abs() < 9_223_372_036_854_775_808.0 && dtype.holds(x as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_type_can_hold() {
        for (dtype, yes, no) in [
            (Dtype::Bool, 1.0, 2.0),
            (Dtype::U8, 255.0, -1.0),
            (Dtype::I8, -128.0, 128.0),
            (Dtype::I32, -100.0, 0.5),
            (Dtype::U16, 65535.0, -100.0),
            (Dtype::I64, -1e18, 1e19),
            (Dtype::U64, 1e19, 2e19),
            (Dtype::F16, 0.1, 1e6),
            (Dtype::F32, f64::NAN, 1e300),
        ] {
            assert!(holds(dtype, yes), "{dtype} {yes}");
            assert!(!holds(dtype, no), "{dtype} {no}");
        }
        assert!(!holds(Dtype::I32, f64::NAN) && !holds(Dtype::I64, f64::INFINITY));
        assert!(holds(Dtype::F64, 1e300) && holds(Dtype::Bf16, f64::INFINITY));
    }
}
