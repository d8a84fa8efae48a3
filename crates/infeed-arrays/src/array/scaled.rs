//! Values as their attributes mean them: `scale_factor`, `add_offset`, `_FillValue`, `missing_value`, `valid_range`.
//!
//! Measurements are often stored as small integers. What they stand for is `stored * scale_factor + add_offset`, and numbers
//! that stand for nothing become NaN. Integers without a factor and an offset are labels and counts: they stay as they are.

use super::{Array, Dense, Element, Pieces, Slab};
use infeed_core::{Dtype, Error, Result};
use std::sync::Arc;

/// What attributes say about the values of an array.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scaling {
    factor: Option<f64>,
    offset: Option<f64>,
    /// Stored numbers that stand for no value.
    missing: Vec<f64>,
    /// The smallest and the largest stored number that is a value.
    valid: [Option<f64>; 2],
}

/// The attributes that are looked at.
pub(crate) const NAMES: [&str; 7] =
    ["scale_factor", "add_offset", "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"];

impl Scaling {
    /// Reads the attributes. `get` returns the numbers of one; none if it is not there or no number.
    pub(crate) fn of(get: impl Fn(&str) -> Vec<f64>) -> Self {
        let one = |name: &str| get(name).first().copied();
        let mut missing = get("_FillValue");
        missing.extend(get("missing_value"));
        // NaN is missing already.
        missing.retain(|value| !value.is_nan());
        missing.dedup();
        let range = get("valid_range");
        let valid = match range[..] {
            [low, high] => [Some(low), Some(high)],
            _ => [one("valid_min"), one("valid_max")],
        };
        Scaling { factor: one("scale_factor"), offset: one("add_offset"), missing, valid }
    }

    /// Whether stored numbers are multiplied or moved.
    pub(crate) fn is_packed(&self) -> bool {
        self.factor.is_some() || self.offset.is_some()
    }

    /// Adds a stored number that stands for no value.
    pub(crate) fn and_missing(mut self, value: f64) -> Self {
        if !value.is_nan() && !self.missing.contains(&value) {
            self.missing.push(value);
        }
        self
    }

    /// The array with its values, or as it is if there is nothing to do.
    pub(crate) fn apply(self, array: Arc<dyn Array>) -> Arc<dyn Array> {
        let Element::Number(stored) = array.element() else { return array };
        let float = matches!(stored, Dtype::F32 | Dtype::F64);
        let masked = !self.missing.is_empty() || self.valid.iter().any(Option::is_some);
        // The conventions know no half precision.
        let known = !matches!(stored, Dtype::Bool | Dtype::F16 | Dtype::Bf16);
        if !known || !(self.is_packed() || float && masked) {
            return array;
        }
        // What 24 bits can tell apart stays a float of 32.
        let small = matches!(stored, Dtype::U8 | Dtype::I8 | Dtype::U16 | Dtype::I16 | Dtype::F32);
        let dtype = if small { Dtype::F32 } else { Dtype::F64 };
        let scaling = if stored == Dtype::F32 { self.rounded() } else { self };
        Arc::new(Scaled { inner: array, scaling, stored, dtype })
    }

    /// Attributes can have more digits than the elements that they are compared with.
    fn rounded(mut self) -> Self {
        let round = |value: &mut f64| *value = f64::from(*value as f32);
        self.missing.iter_mut().for_each(round);
        self.valid.iter_mut().flatten().for_each(round);
        self
    }

    fn value(&self, stored: f64) -> f64 {
        let [low, high] = self.valid;
        let outside = low.is_some_and(|low| stored < low) || high.is_some_and(|high| stored > high);
        if outside || self.missing.contains(&stored) {
            return f64::NAN;
        }
        stored * self.factor.unwrap_or(1.0) + self.offset.unwrap_or(0.0)
    }
}

/// One element as a number, in this machine's byte order.
pub(crate) fn number(dtype: Dtype, element: &[u8]) -> Option<f64> {
    macro_rules! from {
        ($kind:ty) => {
            element.try_into().ok().map(|bytes| <$kind>::from_ne_bytes(bytes) as f64)
        };
    }
    match dtype {
        Dtype::U8 => from!(u8),
        Dtype::I8 => from!(i8),
        Dtype::U16 => from!(u16),
        Dtype::I16 => from!(i16),
        Dtype::U32 => from!(u32),
        Dtype::I32 => from!(i32),
        Dtype::U64 => from!(u64),
        Dtype::I64 => from!(i64),
        Dtype::F32 => from!(f32),
        Dtype::F64 => from!(f64),
        _ => None,
    }
}

/// An array with the values that its attributes mean.
#[derive(Debug)]
pub(crate) struct Scaled {
    inner: Arc<dyn Array>,
    scaling: Scaling,
    stored: Dtype,
    dtype: Dtype,
}

impl Array for Scaled {
    fn element(&self) -> Element {
        Element::Number(self.dtype)
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn chunk(&self) -> Option<&[u64]> {
        self.inner.chunk()
    }

    fn filters(&self) -> Vec<String> {
        self.inner.filters()
    }

    fn plan<'a>(&'a self, slab: &'a Slab) -> Result<Box<dyn Pieces + 'a>> {
        self.inner.plan(slab)
    }

    fn dense(&self, _axis: usize) -> Option<Dense> {
        None
    }

    fn scaled(&self) -> Option<&Scaled> {
        Some(self)
    }

    fn texts(&self, elements: &[u8]) -> Result<Vec<String>> {
        self.inner.texts(elements)
    }
}

impl Scaled {
    /// The array as it is stored.
    pub(crate) fn inner(&self) -> &dyn Array {
        &*self.inner
    }

    /// Turns stored elements into values. Both are in this machine's byte order.
    pub(crate) fn convert(&self, stored: &[u8], out: &mut [u8]) -> Result<()> {
        if stored.len() / self.stored.size() != out.len() / self.dtype.size() {
            return Err(Error::Internal { what: "more or fewer values than were stored".to_owned() });
        }
        macro_rules! from {
            ($kind:ty) => {
                self.write(
                    stored.chunks_exact(size_of::<$kind>()).map(|bytes| {
                        bytes.try_into().map_or(0.0, |bytes| <$kind>::from_ne_bytes(bytes) as f64)
                    }),
                    out,
                )
            };
        }
        match self.stored {
            Dtype::U8 => from!(u8),
            Dtype::I8 => from!(i8),
            Dtype::U16 => from!(u16),
            Dtype::I16 => from!(i16),
            Dtype::U32 => from!(u32),
            Dtype::I32 => from!(i32),
            Dtype::U64 => from!(u64),
            Dtype::I64 => from!(i64),
            Dtype::F32 => from!(f32),
            Dtype::F64 => from!(f64),
            other => {
                let what = format!("a factor for elements of {}", other.name());
                return Err(Error::Internal { what });
            }
        }
        Ok(())
    }

    fn write(&self, stored: impl Iterator<Item = f64>, out: &mut [u8]) {
        if self.dtype == Dtype::F32 {
            for (stored, out) in stored.zip(out.chunks_exact_mut(4)) {
                out.copy_from_slice(&(self.scaling.value(stored) as f32).to_ne_bytes());
            }
        } else {
            for (stored, out) in stored.zip(out.chunks_exact_mut(8)) {
                out.copy_from_slice(&self.scaling.value(stored).to_ne_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Plain;

    fn scaling(pairs: &[(&str, &[f64])]) -> Scaling {
        Scaling::of(|name| {
            pairs.iter().find(|(own, _)| *own == name).map_or_else(Vec::new, |(_, v)| v.to_vec())
        })
    }

    fn plain(dtype: Dtype) -> Arc<dyn Array> {
        let strides = vec![dtype.size() as u64];
        let element = Element::Number(dtype);
        let (shape, at) = (vec![4], 0);
        Arc::new(Plain { element, shape, strides, at, turned: false, wide: false, chunk: None, seal: None })
    }

    #[test]
    fn values_are_as_the_attributes_say() {
        let all = scaling(&[
            ("scale_factor", &[0.5]),
            ("add_offset", &[10.0]),
            ("_FillValue", &[-1.0]),
            ("valid_range", &[-5.0, 100.0]),
        ]);
        let array = all.apply(plain(Dtype::I16));
        let scaled = array.scaled().unwrap();
        let stored: Vec<u8> = [4i16, -1, 101, -6].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut out = vec![0; 16];
        scaled.convert(&stored, &mut out).unwrap();
        let found: Vec<f32> =
            out.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect();
        assert_eq!(found[0], 12.0);
        assert!(found[1..].iter().all(|value| value.is_nan()), "{found:?}");
        assert!(scaled.convert(&stored, &mut out[..8]).is_err());
    }

    #[test]
    fn types_follow_what_is_stored() {
        let packed = scaling(&[("scale_factor", &[0.1])]);
        for (stored, dtype) in [
            (Dtype::U8, Dtype::F32),
            (Dtype::I16, Dtype::F32),
            (Dtype::I32, Dtype::F64),
            (Dtype::F32, Dtype::F32),
            (Dtype::F64, Dtype::F64),
        ] {
            assert_eq!(packed.clone().apply(plain(stored)).element(), Element::Number(dtype));
        }
        // Labels stay labels, and floats without attributes are not copied.
        let masked = scaling(&[("_FillValue", &[1e20])]);
        assert!(masked.clone().apply(plain(Dtype::I32)).scaled().is_none());
        assert!(scaling(&[]).apply(plain(Dtype::F32)).scaled().is_none());
        // 1e20 has other digits in 32 bits.
        let array = masked.apply(plain(Dtype::F32));
        let mut out = [0; 4];
        array.scaled().unwrap().convert(&1e20f32.to_ne_bytes(), &mut out).unwrap();
        assert!(f32::from_ne_bytes(out).is_nan());
    }
}
