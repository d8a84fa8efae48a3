//! Pads samples of different shape into one array.

use super::{
    Column, Pool,
    element::{encode, holds},
};
use infeed_core::{Dtype, Error, Result, Value, memory::readable};
use std::{fmt, sync::Arc};

/// The padding value and target length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Padding {
    /// The padding value.
    pub value: f64,
    /// The first dimension becomes a multiple of this.
    pub multiple: usize,
    /// The first dimension becomes exactly this long.
    pub length: Option<usize>,
}

impl Default for Padding {
    fn default() -> Self {
        Padding { value: 0.0, multiple: 1, length: None }
    }
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)?;
        match (self.length, self.multiple) {
            (Some(length), _) => write!(f, " to {length}"),
            (None, 1) => Ok(()),
            (None, multiple) => write!(f, " to a multiple of {multiple}"),
        }
    }
}

impl Padding {
    /// Checks the arguments.
    pub fn new(value: f64, multiple: Option<usize>, length: Option<usize>) -> Result<Self> {
        if multiple == Some(0) || length == Some(0) {
            return Err(Error::plan("batch", "pad_multiple and pad_length must be at least 1"));
        }
        if multiple.is_some() && length.is_some() {
            return Err(Error::plan("batch", "pad_multiple and pad_length contradict each other: give one"));
        }
        Ok(Padding { value, multiple: multiple.unwrap_or(1), length })
    }

    /// Whether arrays of this type can be padded with its value.
    pub fn fits(&self, dtype: Dtype) -> bool {
        holds(dtype, self.value)
    }

    /// Returns the padded length of the first dimension.
    fn reach(&self, longest: usize) -> Result<usize> {
        match self.length {
            Some(length) if longest > length => Err(Error::sample(format!(
                "a sample is {longest} long, and pad_length is {length}: cut it before, for example with T.Truncate({length})"
            ))),
            Some(length) => Ok(length),
            None => Ok(longest.next_multiple_of(self.multiple)),
        }
    }

    /// Finds the samples that cannot be padded together with the others: of another element type, of another rank than
    /// most, longer than `pad_length`, or so large that all of them padded would take more than `limit` bytes. Whether a sample is
    /// one of them depends on its batch and on nothing else.
    pub(super) fn misfits(
        &self,
        dtype: Dtype,
        values: &[Value],
        places: &[usize],
        limit: u64,
    ) -> Vec<(usize, Error)> {
        let mut bad = Vec::new();
        let mut arrays = Vec::with_capacity(places.len());
        for place in places {
            match &values[*place] {
                Value::Tensor(t) if t.dtype == dtype => arrays.push((*place, &t.shape)),
                other => bad.push((
                    *place,
                    Error::sample(format!("cannot pad {} together with {dtype}", other.what())),
                )),
            }
        }
        let usual = usual_rank(arrays.iter().map(|(_, shape)| shape.len()));
        let mut largest = vec![0; usual];
        for (at, (place, shape)) in arrays.iter().enumerate() {
            let mut refuse = |what: String| bad.push((*place, Error::sample(what)));
            if shape.len() != usual {
                refuse(format!(
                    "it has {} dimensions and most arrays of its batch have {usual}: they cannot be padded together",
                    shape.len()
                ));
                continue;
            }
            let mut with: Vec<usize> = largest.iter().zip(*shape).map(|(a, b)| *a.max(b)).collect();
            if let Some(first) = with.first_mut() {
                match self.reach(*first) {
                    Ok(reach) => *first = reach,
                    Err(error) => {
                        bad.push((*place, error));
                        continue;
                    }
                }
            }
            let all = bytes_of(&with, dtype.size()).and_then(|each| each.checked_mul(arrays.len()));
            // The first sample of a batch has nothing to be padded with.
            if at > 0 && all.is_none_or(|all| all as u64 > limit) {
                refuse(format!(
                    "an array of {shape:?} would pad its batch to {} x {with:?}, more than {}; raise memory=, lower the batch \
                     size, or group samples by length",
                    arrays.len(),
                    readable(limit)
                ));
                continue;
            }
            largest = with;
        }
        bad
    }

    /// Makes one array at least as large as the largest sample; the rest is padding.
    pub(super) fn pad(&self, dtype: Dtype, values: &[Value]) -> Result<Column> {
        let mut tensors = Vec::with_capacity(values.len());
        for v in values {
            match v {
                Value::Tensor(t) if t.dtype == dtype => tensors.push(t),
                Value::Tensor(t) => {
                    return Err(Error::sample(format!("cannot pad {} and {dtype} together", t.dtype)));
                }
                other => return Err(Error::sample(format!("cannot pad {}", other.what()))),
            }
        }
        let rank = tensors.first().map_or(0, |t| t.shape.len());
        if let Some(odd) = tensors.iter().find(|t| t.shape.len() != rank) {
            return Err(Error::sample(format!(
                "cannot pad arrays of {rank} and {} dimensions together",
                odd.shape.len()
            )));
        }
        let mut largest: Vec<usize> =
            (0..rank).map(|d| tensors.iter().map(|t| t.shape[d]).max().unwrap_or(0)).collect();
        if let Some(first) = largest.first_mut() {
            *first = self.reach(*first)?;
        }
        let size = dtype.size();
        let element = encode(dtype, self.value);
        let too_large =
            || Error::sample(format!("{} arrays padded to {largest:?} do not fit in memory", tensors.len()));
        let each = bytes_of(&largest, size).ok_or_else(too_large)?;
        let all = each.checked_mul(tensors.len()).ok_or_else(too_large)?;
        let pool = Pool::new(0);
        let open = pool.take(all)?;
        // SAFETY: the slab was just taken; there is no other reference to it.
        let out = unsafe { open.slab().part(0, all) };
        if element.iter().any(|b| *b != 0) {
            out.chunks_exact_mut(size).for_each(|e| e.copy_from_slice(&element[..size]));
        }
        for (tensor, place) in tensors.iter().zip(out.chunks_exact_mut(each.max(1))) {
            copy_into(&tensor.data, &tensor.shape, place, &largest, size);
        }
        let mut shape = vec![tensors.len()];
        shape.extend(largest);
        Ok(Column::Array { dtype, shape, lease: Arc::new(open.seal()) })
    }
}

/// The rank that most arrays have; of several, the one that comes first.
fn usual_rank(ranks: impl Iterator<Item = usize> + Clone) -> usize {
    let count = |rank: usize| ranks.clone().filter(|other| *other == rank).count();
    let mut usual = (0, 0);
    for rank in ranks.clone() {
        if rank != usual.0 || usual.1 == 0 {
            let n = count(rank);
            if n > usual.1 {
                usual = (rank, n);
            }
        }
    }
    usual.0
}

/// Bytes of an array, if they can be counted.
fn bytes_of(shape: &[usize], size: usize) -> Option<usize> {
    shape.iter().try_fold(size, |n, side| n.checked_mul(*side))
}

/// Copies an array into the corner of a larger one of the same rank.
fn copy_into(from: &[u8], shape: &[usize], to: &mut [u8], large: &[usize], size: usize) {
    match (shape, large) {
        ([], _) | (_, []) => to[..size].copy_from_slice(&from[..size]),
        ([n], _) => to[..n * size].copy_from_slice(&from[..n * size]),
        ([n, inner @ ..], [_, outer @ ..]) => {
            let step = inner.iter().product::<usize>() * size;
            let stride = outer.iter().product::<usize>() * size;
            for i in 0..*n {
                copy_into(
                    &from[i * step..(i + 1) * step],
                    inner,
                    &mut to[i * stride..(i + 1) * stride],
                    outer,
                    size,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::Tensor;

    fn rows(lengths: &[usize]) -> Vec<Value> {
        let row = |n: &usize| Tensor::new(Dtype::U8, vec![*n], vec![7; *n].into()).unwrap();
        lengths.iter().map(|n| Value::Tensor(row(n))).collect()
    }

    #[test]
    fn as_far_as_asked_for() {
        for (multiple, length, wanted) in [(None, None, 5), (Some(4), None, 8), (None, Some(6), 6)] {
            let padding = Padding::new(9.0, multiple, length).unwrap();
            let column = padding.pad(Dtype::U8, &rows(&[3, 5])).unwrap();
            let Column::Array { shape, .. } = &column else { panic!("not an array") };
            assert_eq!(shape, &[2, wanted]);
            let mut expected = vec![9; 2 * wanted];
            expected[..3].fill(7);
            expected[wanted..wanted + 5].fill(7);
            assert_eq!(column.bytes().unwrap(), expected);
        }
    }

    fn shaped(shapes: &[&[usize]]) -> Vec<Value> {
        let array = |shape: &&[usize]| {
            Tensor::new(Dtype::U8, shape.to_vec(), vec![7; shape.iter().product()].into()).unwrap()
        };
        shapes.iter().map(|shape| Value::Tensor(array(shape))).collect()
    }

    #[test]
    fn misfits_are_found_and_the_others_stay() {
        let bad = |values: &[Value], limit| -> Vec<usize> {
            let places: Vec<usize> = (0..values.len()).collect();
            Padding::default()
                .misfits(Dtype::U8, values, &places, limit)
                .into_iter()
                .map(|(at, _)| at)
                .collect()
        };
        assert_eq!(bad(&shaped(&[&[2, 3], &[2, 3, 1], &[4, 1]]), 1000), [1]);
        assert_eq!(bad(&shaped(&[&[1, 500], &[500, 1], &[1, 400]]), 1 << 20), [] as [usize; 0]);
        assert_eq!(bad(&shaped(&[&[1, 500], &[500, 1], &[1, 400]]), 10_000), [1]);
        // Sides of an empty array count too: they would be the sides of the others.
        assert_eq!(bad(&shaped(&[&[1, 1], &[usize::MAX / 2, 0], &[1, 1]]), 10_000), [1]);
        let one = Value::Tensor(Tensor::new(Dtype::U16, vec![1], vec![1, 0].into()).unwrap());
        assert_eq!(bad(&[one, rows(&[3]).remove(0)], 100), [0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let short = Padding::new(0.0, None, Some(4)).unwrap();
        assert!(short.pad(Dtype::U8, &rows(&[3, 5])).unwrap_err().to_string().contains("T.Truncate(4)"));
        assert!(Padding::new(0.0, Some(0), None).is_err());
        assert!(Padding::new(0.0, Some(2), Some(2)).is_err());
    }
}
