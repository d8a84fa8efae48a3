//! Turns class numbers into shares of classes.

use super::blend::rest;
use infeed_core::{Context, Dtype, Error, FieldSpec, Result, Transform, Value};

/// Whether class numbers can have this dtype.
pub(super) fn is_integer(dtype: Dtype) -> bool {
    !dtype.is_float() && dtype != Dtype::Bool
}

/// Returns the class numbers of a batch.
fn read(dtype: Dtype, data: &[u8]) -> impl Iterator<Item = i128> {
    data.chunks_exact(dtype.size()).map(move |bytes| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        if cfg!(target_endian = "big") {
            wide[..bytes.len()].reverse();
        }
        let n = u64::from_le_bytes(wide);
        let unused = 64 - 8 * bytes.len();
        match dtype {
            Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => i128::from(n),
            _ => i128::from((n << unused) as i64 >> unused),
        }
    })
}

fn class(number: i128, classes: usize) -> Result<usize> {
    usize::try_from(number).ok().filter(|n| *n < classes).ok_or_else(|| {
        Error::sample(format!(
            "the label {number} is not one of {classes} classes: labels go from 0 to {}; give num_classes the number of \
             classes of the data",
            classes - 1
        ))
    })
}

/// Writes one row of `classes` shares per sample: `lambda` for the sample's own class, the rest for its partner's.
pub(super) fn mix(dtype: Dtype, numbers: &[u8], classes: usize, lambda: f32, out: &mut [u8]) -> Result<()> {
    let own = read(dtype, numbers).map(|n| class(n, classes)).collect::<Result<Vec<_>>>()?;
    out.fill(0);
    let mut other = own.last().copied().unwrap_or(0);
    for (row, own) in out.chunks_exact_mut(classes * 4).zip(own) {
        let mut add = |class: usize, share: f32| {
            let at = &mut row.as_chunks_mut::<4>().0[class];
            *at = (f32::from_ne_bytes(*at) + share).to_ne_bytes();
        };
        add(other, rest(lambda));
        add(own, lambda);
        other = own;
    }
    Ok(())
}

/// Refuses samples whose class does not exist.
#[derive(Debug)]
pub(super) struct KnownClass {
    pub(super) classes: usize,
}

impl Transform for KnownClass {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        Ok(input.clone())
    }

    fn apply(&self, value: &mut Value, _: &mut Context<'_>) -> Result<()> {
        match value {
            Value::Tensor(label) => {
                read(label.dtype, &label.data).try_for_each(|n| class(n, self.classes).map(drop))
            }
            other => Err(Error::sample(format!("expected a class number, found {}", other.what()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_type_is_read() {
        let read = |dtype, data: &[u8]| read(dtype, data).collect::<Vec<_>>();
        assert_eq!(read(Dtype::U8, &[0, 255]), [0, 255]);
        assert_eq!(read(Dtype::I8, &(-3i8).to_ne_bytes()), [-3]);
        assert_eq!(read(Dtype::U16, &65_535u16.to_ne_bytes()), [65_535]);
        assert_eq!(read(Dtype::I16, &(-300i16).to_ne_bytes()), [-300]);
        assert_eq!(read(Dtype::U32, &4_000_000_000u32.to_ne_bytes()), [4_000_000_000]);
        assert_eq!(read(Dtype::I32, &(-70_000i32).to_ne_bytes()), [-70_000]);
        assert_eq!(read(Dtype::U64, &u64::MAX.to_ne_bytes()), [i128::from(u64::MAX)]);
        assert_eq!(read(Dtype::I64, &i64::MIN.to_ne_bytes()), [i128::from(i64::MIN)]);
    }
}
