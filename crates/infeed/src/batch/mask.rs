//! Masks beside padded columns.

use super::{Column, Lease, PadMask};
use infeed_core::{Dtype, Error, Result, Value};
use std::sync::Arc;

impl PadMask {
    /// Makes the mask of samples that were padded to an array of shape `padded`, whose first axis counts samples.
    pub(super) fn column(&self, values: &[Value], padded: &[usize]) -> Result<Column> {
        let mut shape = padded.to_vec();
        if values.is_empty() {
            // Without samples, the padded array does not say how many axes they have.
            shape = vec![0; 1 + self.shape.len()];
        }
        shape.truncate(1 + self.shape.len());
        let each: usize = shape[1..].iter().product();
        let lease = Lease::filled(each * values.len(), |out| {
            for (value, place) in values.iter().zip(out.chunks_exact_mut(each.max(1))) {
                let Value::Tensor(tensor) = value else {
                    return Err(Error::Internal { what: "a mask of something that is no array".to_owned() });
                };
                mark(&tensor.shape, place, &shape[1..]);
            }
            Ok(())
        })?;
        Ok(Column::Array { dtype: Dtype::Bool, shape, lease: Arc::new(lease) })
    }
}

/// Marks the corner that an array of `shape` has in one of shape `large`; axes that `large` lacks do not count.
fn mark(shape: &[usize], to: &mut [u8], large: &[usize]) {
    match (shape, large) {
        (_, []) | ([], _) => to.fill(1),
        ([n, ..], [_]) => to[..*n].fill(1),
        ([n, inner @ ..], [_, outer @ ..]) => {
            let stride: usize = outer.iter().product();
            to.chunks_exact_mut(stride.max(1)).take(*n).for_each(|part| mark(inner, part, outer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Padding;
    use infeed_core::{Dim, Tensor};
    use proptest::prelude::*;

    fn arrays(shapes: &[Vec<usize>]) -> Vec<Value> {
        let array = |shape: &Vec<usize>| {
            Tensor::new(Dtype::U8, shape.clone(), vec![1; shape.iter().product()].into()).unwrap()
        };
        shapes.iter().map(|shape| Value::Tensor(array(shape))).collect()
    }

    fn padded(values: &[Value], multiple: usize) -> (Vec<usize>, Vec<u8>) {
        let padding = Padding::new(0.0, Some(multiple), None).unwrap();
        let column = padding.pad(Dtype::U8, values).unwrap();
        let Column::Array { shape, .. } = &column else { panic!("not an array") };
        (shape.clone(), column.bytes().unwrap().to_vec())
    }

    proptest! {
        /// Data of ones padded with zeros is its own mask.
        #[test]
        fn a_mask_is_true_where_data_is(
            sizes in prop::collection::vec((0usize..5, 0usize..4, 0usize..3), 1..6),
            rank in 1usize..4,
            multiple in 1usize..4,
        ) {
            let shapes: Vec<Vec<usize>> = sizes.iter().map(|(a, b, c)| [*a, *b, *c][..rank].to_vec()).collect();
            let values = arrays(&shapes);
            let (shape, data) = padded(&values, multiple);
            let mask = PadMask { name: "m".into(), shape: vec![Dim::Any; rank] }.column(&values, &shape).unwrap();
            prop_assert_eq!(mask.bytes().unwrap(), &data[..]);
            let Column::Array { shape: own, dtype, .. } = &mask else { panic!("not an array") };
            prop_assert_eq!((own, *dtype), (&shape, Dtype::Bool));
        }

        #[test]
        fn one_axis_is_enough_where_only_the_first_varies(
            lengths in prop::collection::vec(0usize..6, 1..6), inner in 1usize..4,
        ) {
            let values = arrays(&lengths.iter().map(|n| vec![*n, inner]).collect::<Vec<_>>());
            let (shape, data) = padded(&values, 1);
            let mask = PadMask { name: "m".into(), shape: vec![Dim::Any] }.column(&values, &shape).unwrap();
            let firsts: Vec<u8> = data.chunks(inner).map(|row| row[0]).collect();
            prop_assert_eq!(mask.bytes().unwrap(), &firsts[..]);
        }
    }

    #[test]
    fn without_samples_the_axes_stay() {
        let mask =
            PadMask { name: "m".into(), shape: vec![Dim::Any, Dim::Fixed(3)] }.column(&[], &[0]).unwrap();
        assert!(matches!(mask, Column::Array { shape, .. } if shape == [0, 0, 0]));
    }
}
