//! Codecs over numbers: differences, scales and casts, as numcodecs computes them.

use crate::datatype::{Order, Scalar, foreign};
use half::{bf16, f16};
use infeed_codecs as codecs;

/// What was done to numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum How {
    /// Each number but the first is the difference to the one before.
    Delta,
    /// Scaled after an offset was taken away: (scale, offset).
    Scale(f64, f64),
    /// Only made another type.
    Cast,
}

/// A step over numbers: what they are in the chunk, and what was stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) how: How,
    pub(crate) chunk: (Scalar, Order),
    pub(crate) stored: (Scalar, Order),
}

/// A number between two types.
#[derive(Clone, Copy)]
enum Value {
    Whole(i128),
    Half(f16),
    Brain(bf16),
    Single(f32),
    Double(f64),
}

impl Numbers {
    pub(super) fn name(&self) -> &'static str {
        match self.how {
            How::Delta => "delta",
            How::Scale(..) => "fixedscaleoffset",
            How::Cast => "astype",
        }
    }

    pub(super) fn size_behind(&self, size: usize) -> usize {
        (size / self.chunk.0.size()).saturating_mul(self.stored.0.size())
    }

    pub(super) fn undo(&self, input: &[u8], out: &mut [u8]) -> codecs::Result {
        let (from, to) = (self.stored.0.size(), self.chunk.0.size());
        let count = input.len() / from;
        if count * from != input.len() {
            return Err("a number is cut short".into());
        }
        let total = count.checked_mul(to).ok_or("more bytes than can be counted")?;
        let out = out.get_mut(..total).ok_or("more bytes than a chunk has")?;
        let mut sum = None;
        for (from, to) in input.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            let value = read(from, self.stored);
            let value = match self.how {
                How::Cast => value,
                How::Scale(scale, offset) => scaled(value, scale, offset),
                // Sums are made in the type of the chunk.
                How::Delta => {
                    let value = cast(value, self.chunk.0);
                    let next = sum.map_or(value, |sum| added(sum, value));
                    let next = cast(next, self.chunk.0);
                    sum = Some(next);
                    next
                }
            };
            write(cast(value, self.chunk.0), self.chunk, to);
        }
        Ok(total)
    }
}

fn read(bytes: &[u8], (scalar, order): (Scalar, Order)) -> Value {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    if order == Order::Big {
        wide[..bytes.len()].reverse();
    }
    let raw = u64::from_le_bytes(wide);
    match scalar {
        Scalar::I8 => Value::Whole(i128::from(raw as i8)),
        Scalar::I16 => Value::Whole(i128::from(raw as i16)),
        Scalar::I32 => Value::Whole(i128::from(raw as i32)),
        Scalar::I64 => Value::Whole(i128::from(raw as i64)),
        Scalar::F16 => Value::Half(f16::from_bits(raw as u16)),
        Scalar::BF16 => Value::Brain(bf16::from_bits(raw as u16)),
        Scalar::F32 => Value::Single(f32::from_bits(raw as u32)),
        Scalar::F64 => Value::Double(f64::from_bits(raw)),
        _ => Value::Whole(i128::from(raw)),
    }
}

fn write(value: Value, (scalar, order): (Scalar, Order), to: &mut [u8]) {
    let wide = match value {
        Value::Whole(value) => (value as u64).to_le_bytes(),
        Value::Half(value) => u64::from(value.to_bits()).to_le_bytes(),
        Value::Brain(value) => u64::from(value.to_bits()).to_le_bytes(),
        Value::Single(value) => u64::from(value.to_bits()).to_le_bytes(),
        Value::Double(value) => value.to_bits().to_le_bytes(),
    };
    let size = scalar.size();
    to.copy_from_slice(&wide[..size]);
    if foreign(order) != foreign(Order::Little) {
        to.reverse();
    }
}

fn float(value: Value) -> f64 {
    match value {
        Value::Whole(value) => value as f64,
        Value::Half(value) => value.to_f64(),
        Value::Brain(value) => value.to_f64(),
        Value::Single(value) => f64::from(value),
        Value::Double(value) => value,
    }
}

/// The same number as another type. Whole numbers that are too large lose their upper bits.
fn cast(value: Value, scalar: Scalar) -> Value {
    match (scalar, value) {
        (Scalar::F64, Value::Double(_)) | (Scalar::F32, Value::Single(_)) => value,
        (Scalar::F64, _) => Value::Double(float(value)),
        (Scalar::F32, Value::Whole(value)) => Value::Single(value as f32),
        (Scalar::F32, _) => Value::Single(float(value) as f32),
        (Scalar::F16, _) => Value::Half(f16::from_f64(float(value))),
        (Scalar::BF16, _) => Value::Brain(bf16::from_f64(float(value))),
        (_, Value::Whole(value)) => {
            let left = 128 - scalar.size() as u32 * 8;
            let signed = matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
            let wide = value << left;
            Value::Whole(if signed { wide >> left } else { (wide as u128 >> left) as i128 })
        }
        (_, _) => cast(Value::Whole(float(value) as i128), scalar),
    }
}

fn added(one: Value, two: Value) -> Value {
    match (one, two) {
        (Value::Whole(one), Value::Whole(two)) => Value::Whole(one.wrapping_add(two)),
        (Value::Single(one), Value::Single(two)) => Value::Single(one + two),
        (Value::Half(one), Value::Half(two)) => Value::Half(f16::from_f32(one.to_f32() + two.to_f32())),
        (one, two) => Value::Double(float(one) + float(two)),
    }
}

/// Floats of 32 bits stay such, as in NumPy; everything else is computed with 64.
fn scaled(value: Value, scale: f64, offset: f64) -> Value {
    match value {
        Value::Single(value) => Value::Single(value / scale as f32 + offset as f32),
        other => Value::Double(float(other) / scale + offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_wrap_around() {
        let little = (Scalar::U8, Order::Little);
        let delta = Numbers {
            how: How::Delta,
            chunk: (Scalar::I16, Order::Big),
            stored: (Scalar::I8, Order::Little),
        };
        let mut out = [0; 6];
        assert_eq!(delta.undo(&[100, 100, 255], &mut out), Ok(6));
        assert_eq!(out, [0, 100, 0, 200, 0, 199]);
        let narrow = Numbers { how: How::Delta, chunk: little, stored: little };
        assert_eq!(narrow.undo(&[200, 100], &mut out), Ok(2));
        assert_eq!(out[..2], [200, 44]);
        assert!(delta.undo(&[1, 2, 3, 4], &mut out).is_err());
        let scale =
            Numbers { how: How::Scale(10.0, 100.0), chunk: (Scalar::F32, Order::Little), stored: little };
        let mut out = [0; 4];
        scale.undo(&[5], &mut out).unwrap();
        assert_eq!(f32::from_le_bytes(out), 100.5);
    }
}
