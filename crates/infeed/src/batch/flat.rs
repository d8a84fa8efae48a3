//! Lays samples of different length end to end in one array.

use super::{Column, Lease};
use infeed_core::{Dim, Dtype, Error, Result, Tensor, Value, memory::readable};
use std::sync::Arc;

/// Finds the samples that cannot be laid end to end with the others: no arrays of this element type, of another shape apart
/// from their length than most, or so large that all of them would take more than `limit` bytes. Whether a sample is one of
/// them depends on its batch and on nothing else.
pub(super) fn misfits(dtype: Dtype, values: &[Value], places: &[usize], limit: u64) -> Vec<(usize, Error)> {
    let mut bad = Vec::new();
    let mut arrays = Vec::with_capacity(places.len());
    for place in places {
        match array(&values[*place], dtype) {
            Ok(tensor) => arrays.push((*place, tensor)),
            Err(error) => bad.push((*place, error)),
        }
    }
    let Some(usual) = usual_inner(&arrays) else { return bad };
    let mut total: u64 = 0;
    for (at, (place, tensor)) in arrays.iter().enumerate() {
        if tensor.shape[1..] != *usual {
            let what = format!(
                "an array of {:?} does not fit the others of its batch, which are [any length, {}]: arrays laid end to end \
                 may differ in their length only",
                tensor.shape,
                usual.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
            );
            bad.push((*place, Error::sample(what)));
            continue;
        }
        let with = total.saturating_add(tensor.data.len() as u64);
        // The first sample of a batch is there alone.
        if at > 0 && with > limit {
            let what = format!(
                "with an array of {:?} its batch would take {}, more than {}; raise memory= or lower the batch size",
                tensor.shape,
                readable(with),
                readable(limit)
            );
            bad.push((*place, Error::sample(what)));
            continue;
        }
        total = with;
    }
    bad
}

/// Makes one array of all samples, and one of where each begins and the last ends.
pub(super) fn join(dtype: Dtype, inner: &[Dim], values: &[Value]) -> Result<(Column, Column)> {
    let arrays = values.iter().map(|value| array(value, dtype)).collect::<Result<Vec<_>>>()?;
    let known = |dim: &Dim| if let Dim::Fixed(n) = dim { *n } else { 0 };
    let inner: Vec<usize> = match arrays.first() {
        Some(first) => first.shape[1..].to_vec(),
        None => inner.iter().map(known).collect(),
    };
    if let Some(odd) = arrays.iter().find(|tensor| tensor.shape[1..] != inner[..]) {
        return Err(Error::sample(format!("cannot lay {:?} end to end with [any, {inner:?}]", odd.shape)));
    }
    let mut shape = vec![arrays.iter().map(|tensor| tensor.shape[0]).sum()];
    shape.extend(inner);
    let data = Lease::filled(arrays.iter().map(|tensor| tensor.data.len()).sum(), |mut out: &mut [u8]| {
        for tensor in &arrays {
            let (place, rest) = out.split_at_mut(tensor.data.len());
            place.copy_from_slice(&tensor.data);
            out = rest;
        }
        Ok::<(), Error>(())
    })?;
    let offsets = Lease::filled((arrays.len() + 1) * size_of::<i64>(), |out: &mut [u8]| {
        let mut end: i64 = 0;
        let (places, _) = out.as_chunks_mut::<{ size_of::<i64>() }>();
        for (place, tensor) in places.iter_mut().skip(1).zip(&arrays) {
            end += tensor.shape[0] as i64;
            *place = end.to_ne_bytes();
        }
        Ok::<(), Error>(())
    })?;
    let counts = vec![arrays.len() + 1];
    Ok((
        Column::Array { dtype, shape, lease: Arc::new(data) },
        Column::Array { dtype: Dtype::I64, shape: counts, lease: Arc::new(offsets) },
    ))
}

/// The array inside, if it has the element type and a first axis.
fn array(value: &Value, dtype: Dtype) -> Result<&Tensor> {
    match value {
        Value::Tensor(tensor) if tensor.dtype != dtype => {
            Err(Error::sample(format!("cannot lay an array of {} end to end with {dtype}", tensor.dtype)))
        }
        Value::Tensor(tensor) if tensor.shape.is_empty() => {
            Err(Error::sample("a single number has no axis along which it could be laid end to end"))
        }
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(Error::sample(format!("cannot lay {} end to end with {dtype}", other.what()))),
    }
}

/// The shape, without the first axis, that most arrays have; of several, the one that comes first.
fn usual_inner<'a>(arrays: &[(usize, &'a Tensor)]) -> Option<&'a [usize]> {
    let mut counts: Vec<(&[usize], usize)> = Vec::new();
    for (_, tensor) in arrays {
        match counts.iter_mut().find(|(inner, _)| *inner == &tensor.shape[1..]) {
            Some((_, count)) => *count += 1,
            None => counts.push((&tensor.shape[1..], 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    counts.iter().find(|(_, count)| *count == most).map(|(inner, _)| *inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shaped(shapes: &[&[usize]]) -> Vec<Value> {
        let array = |shape: &&[usize]| {
            let data: Vec<u8> = (0..shape.iter().product::<usize>()).map(|n| n as u8).collect();
            Value::Tensor(Tensor::new(Dtype::U8, shape.to_vec(), data.into()).unwrap())
        };
        shapes.iter().map(array).collect()
    }

    fn bad(values: &[Value], limit: u64) -> Vec<usize> {
        let places: Vec<usize> = (0..values.len()).collect();
        misfits(Dtype::U8, values, &places, limit).into_iter().map(|(at, _)| at).collect()
    }

    proptest! {
        /// Cutting the array at the offsets gives the samples back.
        #[test]
        fn offsets_give_the_samples_back(
            lengths in prop::collection::vec(0usize..9, 0..9),
            inner in prop::collection::vec(0usize..4, 0..3),
        ) {
            let shapes: Vec<Vec<usize>> =
                lengths.iter().map(|n| std::iter::once(*n).chain(inner.iter().copied()).collect()).collect();
            let values = shaped(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert!(bad(&values, u64::MAX).is_empty());
            let dims: Vec<Dim> = inner.iter().map(|n| Dim::Fixed(*n)).collect();
            let (all, offsets) = join(Dtype::U8, &dims, &values).unwrap();
            let Column::Array { shape, .. } = &all else { panic!("not an array") };
            prop_assert_eq!((shape[0], &shape[1..]), (lengths.iter().sum::<usize>(), &inner[..]));
            let offsets: Vec<usize> = offsets.bytes().unwrap().chunks(8)
                .map(|n| i64::from_ne_bytes(n.try_into().unwrap()) as usize).collect();
            prop_assert_eq!((offsets.len(), offsets[0]), (lengths.len() + 1, 0));
            let each: usize = inner.iter().product();
            for (value, ends) in values.iter().zip(offsets.windows(2)) {
                let Value::Tensor(tensor) = value else { panic!("not an array") };
                prop_assert_eq!(&all.bytes().unwrap()[ends[0] * each..ends[1] * each], &tensor.data[..]);
            }
        }
    }

    #[test]
    fn misfits_are_found_and_the_others_stay() {
        assert_eq!(bad(&shaped(&[&[2, 3], &[5, 4], &[0, 3], &[1, 3, 1], &[]]), 1000), [4, 1, 3]);
        assert_eq!(bad(&shaped(&[&[600], &[600], &[300]]), 1000), [1]);
        assert_eq!(bad(&shaped(&[&[6000], &[1]]), 1000), [1]);
        assert_eq!(bad(&[Value::Missing, shaped(&[&[3]]).remove(0)], 100), [0]);
        let error = misfits(Dtype::U8, &shaped(&[&[2, 3], &[5, 4], &[0, 3]]), &[0, 1, 2], 1000).remove(0).1;
        assert!(error.to_string().contains("[5, 4]"), "{error}");
        assert!(join(Dtype::U16, &[], &shaped(&[&[3]])).is_err());
    }
}
