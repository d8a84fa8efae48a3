//! Converts one finished value to its stored type. The vector code does the same arithmetic on many values.

/// Rounds to the nearest integer, ties to even, and clips; NaN becomes zero.
pub(crate) fn to_u8(value: f32) -> u8 {
    // The conversion saturates, so only the rounding is needed.
    value.round_ties_even() as u8
}

/// Rounds to the upper half of the float, ties to even; NaN stays a (quiet) NaN.
pub(crate) fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// Rounds to IEEE half precision, ties to even, with subnormals and infinities.
pub(crate) fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let exponent = (bits >> 23 & 0xff) as i32;
    let fraction = bits & 0x7f_ffff;
    if exponent == 0xff {
        let nan = if fraction == 0 { 0 } else { 0x200 | (fraction >> 13) as u16 };
        return sign | 0x7c00 | nan;
    }
    let half_exponent = exponent - 127 + 15;
    if half_exponent >= 0x1f {
        return sign | 0x7c00;
    }
    // Drops `shift` bits of a significand; a carry out of the fraction increments the exponent.
    let round = |significand: u32, shift: u32| {
        let half = 1u32 << (shift - 1);
        (significand + (half - 1) + ((significand >> shift) & 1)) >> shift
    };
    if half_exponent > 0 {
        let joined = (half_exponent as u32) << 23 | fraction;
        return sign | round(joined, 13) as u16;
    }
    let shift = 14 - half_exponent;
    if shift > 24 {
        return sign;
    }
    sign | round(fraction | 0x80_0000, shift as u32) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_halves() {
        for (value, half) in [
            (0.0, 0x0000),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (f32::INFINITY, 0x7c00),
            (6.103_515_6e-5, 0x0400),
            (5.960_464_5e-8, 0x0001),
            (2.980_232_2e-8, 0x0000),
            (2.99e-8, 0x0001),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
        ] {
            assert_eq!(to_f16(value), half, "{value}");
        }
        assert_eq!(to_f16(f32::NAN) & 0x7c00, 0x7c00);
        assert_ne!(to_f16(f32::NAN) & 0x03ff, 0);
    }

    #[test]
    fn known_bfloats() {
        for (value, bits) in [(1.0, 0x3f80), (-1.0, 0xbf80), (f32::INFINITY, 0x7f80), (f32::MAX, 0x7f80)] {
            assert_eq!(to_bf16(value), bits, "{value}");
        }
        assert_eq!(to_bf16(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(to_bf16(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert!(to_bf16(f32::NAN) & 0x7fff > 0x7f80);
    }

    #[test]
    fn bytes_round_to_even_and_clip() {
        for (value, byte) in
            [(0.5, 0), (1.5, 2), (2.5, 2), (-3.0, 0), (300.0, 255), (254.5, 254), (f32::NAN, 0)]
        {
            assert_eq!(to_u8(value), byte, "{value}");
        }
    }
}
