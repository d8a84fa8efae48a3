//! Tests of nested orders.

use super::{arbitrary::arbitrary_order, check::holds};
use crate::{Below, Sequential, Slice, Stop};
use infeed_core::OrderExt;
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// However orders are nested, the rows are those of the simple model, and all other guarantees hold.
    #[test]
    fn nested(tree in arbitrary_order(), epoch in 0u64..4) {
        let (order, model) = tree.build();
        holds(&*order, epoch, &model(epoch));
    }

    /// Taking and skipping a prefix of any order together give the whole order.
    #[test]
    fn take_and_skip_are_the_whole(tree in arbitrary_order(), cut in 0u64..60) {
        let (order, _) = tree.build();
        let n = order.places();
        let (head, tail) = (Slice::take(order.clone(), cut), Slice::skip(order.clone(), cut));
        prop_assert_eq!([head.rows(1, 0..n), tail.rows(1, 0..n)].concat(), order.rows(1, 0..n));
    }
}

#[test]
fn places_far_beyond_the_end_do_not_panic() {
    let rows: Below = Arc::new(Sequential::new(5, [3, 4]));
    let orders: Vec<Below> = vec![
        Arc::new(crate::Concat::new(vec![rows.clone(), rows.clone()]).unwrap()),
        Arc::new(Slice::python(rows.clone(), None, None, Some(-2)).unwrap()),
        Arc::new(crate::Pick::new(rows.clone(), vec![1, 2]).unwrap()),
        Arc::new(crate::Split::new(rows.clone(), &crate::Lengths::Counts(vec![3, 3]), 1, 0).unwrap()),
        Arc::new(crate::Fold::new(rows.clone(), 2, 1, false, Some(1)).unwrap()),
        Arc::new(crate::Repeat::new(rows.clone(), 3).unwrap()),
        Arc::new(crate::Interleave::new(vec![rows.clone(), rows.clone()], 2, Stop::First).unwrap()),
        Arc::new(
            crate::Blend::new(vec![rows.clone(), rows], &[1.0, 2.0], crate::BlendLength::First).unwrap(),
        ),
    ];
    for order in orders {
        let mut places = [u64::MAX, order.places(), 0];
        order.resolve(u64::MAX, &mut places);
        assert!(places.iter().all(|row| (5..12).contains(row)), "{places:?} of {}", order.describe());
    }
}

#[test]
fn choices_are_spelt_in_snake_case() {
    assert_eq!(serde_json::to_string(&Stop::First).unwrap(), "\"first\"");
    assert_eq!(serde_json::to_string(&crate::BlendLength::Exactly(3)).unwrap(), "{\"exactly\":3}");
    let lengths = crate::Lengths::Fractions(vec![0.5]);
    assert_eq!(serde_json::to_string(&lengths).unwrap(), "{\"fractions\":[0.5]}");
}
