//! `Float16_t` and `Double32_t`: numbers that are stored in fewer bits than they have in memory.

use infeed_core::Dtype;
use std::f64::consts::PI;

/// How such a number is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Small {
    /// As float32.
    Float,
    /// As a number of 32 bits: the value is that divided by a factor, above a lowest value.
    Steps { low: f64, factor: f64 },
    /// As the exponent of float32 and so many bits of its mantissa.
    Bits(u32),
}

impl Small {
    /// What the title of a leaf says: `x[low,high]` or `x[low,high,bits]`, behind dimensions if it has some.
    pub(super) fn new(title: &str, dtype: Dtype) -> Result<Small, String> {
        let other = if dtype == Dtype::F64 { Small::Float } else { Small::Bits(12) };
        let Some(range) = range(title) else { return Ok(other) };
        let unknown = || format!("its range `[{range}]` is not known");
        let mut parts = range.split(',');
        let mut next = || parts.next().map(|part| part.replace(' ', "").to_lowercase());
        let (Some(low), Some(high), bits) = (next(), next(), next()) else { return Err(unknown()) };
        let (Some(low), Some(high)) = (number(&low), number(&high)) else { return Err(unknown()) };
        let bits = match bits {
            Some(bits) => bits.parse::<u32>().map_err(|_| unknown())?,
            None => 32,
        };
        let bits = if (2..=32).contains(&bits) { bits } else { 32 };
        let steps = if bits < 32 { 1u64 << bits } else { u64::from(u32::MAX) };
        if low < high {
            return Ok(Small::Steps { low, factor: steps as f64 / (high - low) });
        }
        Ok(if bits < 15 { Small::Bits(bits) } else { other })
    }

    /// Bytes of a number.
    pub(crate) fn size(self) -> usize {
        match self {
            Small::Bits(_) => 3,
            _ => 4,
        }
    }

    /// Writes numbers of a type.
    pub(crate) fn write(self, dtype: Dtype, from: &[u8], to: &mut [u8]) {
        match self {
            Small::Float => {
                put(from.as_chunks().0.iter().map(|one| f64::from(f32::from_be_bytes(*one))), dtype, to)
            }
            Small::Steps { low, factor } => {
                let value = |one: &[u8; 4]| f64::from(u32::from_be_bytes(*one)) / factor + low;
                put(from.as_chunks().0.iter().map(value), dtype, to);
            }
            Small::Bits(bits) => {
                let value = |[exponent, high, low]: &[u8; 3]| {
                    let mantissa = u32::from(u16::from_be_bytes([*high, *low]));
                    let sign = 1 << (bits + 1);
                    let value =
                        f32::from_bits(u32::from(*exponent) << 23 | (mantissa & (sign - 1)) << (23 - bits));
                    f64::from(if mantissa & sign != 0 { -value } else { value })
                };
                put(from.as_chunks().0.iter().map(value), dtype, to);
            }
        }
    }
}

fn put(values: impl Iterator<Item = f64>, dtype: Dtype, to: &mut [u8]) {
    match dtype {
        Dtype::F32 => {
            let pairs = to.as_chunks_mut().0.iter_mut().zip(values);
            pairs.for_each(|(to, value)| *to = (value as f32).to_ne_bytes());
        }
        _ => to.as_chunks_mut().0.iter_mut().zip(values).for_each(|(to, value)| *to = value.to_ne_bytes()),
    }
}

/// The range of a title: the first or the second bracket, if a comma is in it.
fn range(title: &str) -> Option<&str> {
    let brackets = title.split('[').skip(1).map(|part| part.split(']').next().unwrap_or(""));
    brackets.take(2).find(|inner| inner.contains(','))
}

/// A title without its range.
pub(super) fn without_range(title: &str) -> String {
    match range(title) {
        Some(range) => title.replacen(&format!("[{range}]"), "", 1),
        None => title.to_owned(),
    }
}

/// An end of a range, which can be written with pi.
fn number(text: &str) -> Option<f64> {
    if !text.contains("pi") {
        return text.parse().ok().filter(|number: &f64| number.is_finite());
    }
    let size = match text.trim_start_matches(['-', '+']) {
        "2pi" | "2*pi" | "twopi" => 2.0 * PI,
        "pi/2" => PI / 2.0,
        "pi/4" => PI / 4.0,
        "pi" => PI,
        _ => return None,
    };
    Some(if text.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_say_how_numbers_are_stored() {
        let double = |title| Small::new(title, Dtype::F64);
        assert_eq!(double("x"), Ok(Small::Float));
        assert_eq!(double("x[3]"), Ok(Small::Float));
        assert_eq!(Small::new("x[n][3]", Dtype::F32), Ok(Small::Bits(12)));
        assert_eq!(double("x[0,0,10]"), Ok(Small::Bits(10)));
        assert_eq!(double("x[0,0,20]"), Ok(Small::Float));
        assert_eq!(double("x[3][0, 8, 3]"), Ok(Small::Steps { low: 0.0, factor: 1.0 }));
        let all = f64::from(u32::MAX);
        assert_eq!(double("x[-pi,pi]"), Ok(Small::Steps { low: -PI, factor: all / (2.0 * PI) }));
        assert_eq!(double("x[0, twopi, 77]"), Ok(Small::Steps { low: 0.0, factor: all / (2.0 * PI) }));
        assert!(double("x[0,three]").unwrap_err().contains("`[0,three]`"));
        assert_eq!(without_range("x[3][0,8,3]"), "x[3]");
        assert_eq!(without_range("x[0,8]"), "x");
        assert_eq!(without_range("x[2][3]"), "x[2][3]");
    }
}
