//! Tests of frequencies, turns and errors.

use super::*;
use crate::{Below, Sequential};
use infeed_core::{Order, OrderExt};
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc};

fn lie(rows: usize) -> Below {
    Arc::new(Sequential::of(rows as u64))
}

fn all(order: &dyn Order, epoch: u64) -> Vec<u64> {
    order.rows(epoch, 0..order.places())
}

/// Chi-square of counts against weights. The degrees of freedom are one less than the number of weights above 0.
fn chi_square(rows: impl Iterator<Item = u64>, weights: &[f64]) -> f64 {
    let mut counts = vec![0f64; weights.len()];
    rows.for_each(|row| counts[row as usize] += 1.0);
    let (drawn, sum) = (counts.iter().sum::<f64>(), weights.iter().sum::<f64>());
    let off = |(count, weight): (&f64, &f64)| {
        let wanted = drawn * weight / sum;
        if wanted > 0.0 { (count - wanted).powi(2) / wanted } else { *count * 1e9 }
    };
    counts.iter().zip(weights).map(off).sum()
}

const WEIGHTS: [f64; 8] = [1.0, 0.0, 2.0, 0.5, 10.0, 0.0, 3.0, 3.5];
/// Chi-square with 5 degrees of freedom stays below this in 999 of 1000 cases.
const CHI_5: f64 = 20.5;

#[test]
fn drawn_again_as_often_as_weighed() {
    let order = Weighted::new(lie(8), &WEIGHTS, Some(100_000), true, 17).unwrap();
    assert_eq!(order.places(), 100_000);
    let chi = chi_square(all(&order, 0).into_iter(), &WEIGHTS);
    assert!(chi < CHI_5, "{chi}");
    // The same place over epochs is random as well.
    let chi = chi_square((0..20_000).flat_map(|epoch| order.rows(epoch, 5..6)), &WEIGHTS);
    assert!(chi < CHI_5, "{chi}");
}

#[test]
fn many_equal_weights_are_even() {
    let order = Weighted::new(lie(1000), &[1e300; 1000], Some(100_000), true, 17).unwrap();
    let chi = chi_square(all(&order, 0).into_iter(), &[1.0; 1000]);
    assert!((chi - 999.0).abs() < 150.0, "{chi}");
}

#[test]
fn drawn_once_the_heavy_come_first() {
    let order = Weighted::new(lie(8), &WEIGHTS, None, false, 17).unwrap();
    assert_eq!(order.places(), 6);
    let chi = chi_square((0..20_000).flat_map(|epoch| order.rows(epoch, 0..1)), &WEIGHTS);
    assert!(chi < CHI_5, "{chi}");
    // The second row, given that row 4 was first, is drawn by the weights of the others.
    let mut rest = WEIGHTS;
    rest[4] = 0.0;
    let second = (0..20_000).map(|epoch| order.rows(epoch, 0..2)).filter(|rows| rows[0] == 4);
    let chi = chi_square(second.map(|rows| rows[1]), &rest);
    assert!(chi < CHI_5, "{chi}");
}

#[test]
fn tiny_and_huge_weights() {
    let weights = [1e-300, 1e300, 1e-300, 0.0, f64::MIN_POSITIVE];
    let once = Weighted::new(lie(5), &weights, None, false, 17).unwrap();
    let mut rows = all(&once, 0);
    assert_eq!(rows[0], 1);
    rows.sort_unstable();
    assert_eq!(rows, [0, 1, 2, 4]);
    let again = Weighted::new(lie(5), &weights, Some(1000), true, 17).unwrap();
    assert!(all(&again, 0).iter().all(|row| *row == 1));
}

proptest! {
    #[test]
    fn weighted_keeps_its_promises(weights in prop::collection::vec(0u32..4, 1..200), epoch in 0u64..3, part in 1u64..100) {
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        prop_assume!(weights.iter().any(|w| *w > 0.0));
        let whole = Weighted::new(lie(weights.len()), &weights, None, false, 17).unwrap();
        let mut once = all(&whole, epoch);
        // A shorter epoch is a prefix of the whole one.
        let part = part.min(whole.places());
        let short = Weighted::new(lie(weights.len()), &weights, Some(part), false, 17).unwrap();
        prop_assert_eq!(&all(&short, epoch), &once[..part as usize]);
        once.sort_unstable();
        let wanted = (0..weights.len() as u64).filter(|row| weights[*row as usize] > 0.0);
        prop_assert!(once.into_iter().eq(wanted));
        let again = Weighted::new(lie(weights.len()), &weights, None, true, 17).unwrap();
        let rows = all(&again, epoch);
        prop_assert!(rows.iter().all(|row| weights[*row as usize] > 0.0));
        for place in (0..again.places()).rev() {
            prop_assert_eq!(again.rows(epoch, place..place + 1)[0], rows[place as usize]);
        }
        let mut beyond = [again.places(), u64::MAX];
        again.resolve(epoch, &mut beyond);
        whole.resolve(epoch, &mut beyond);
    }

    /// Every aligned run has each class once; over passes every row comes equally often.
    #[test]
    fn classes_take_turns(labels in prop::collection::vec(-3i64..4, 1..200), over in any::<bool>()) {
        let mut sizes = BTreeMap::<i64, u64>::new();
        labels.iter().for_each(|label| *sizes.entry(*label).or_default() += 1);
        let mode = if over { Balance::Over } else { Balance::Under };
        let order = Balanced::new(lie(labels.len()), &labels, mode, 17).unwrap();
        let each = if over { sizes.values().max() } else { sizes.values().min() };
        prop_assert_eq!(order.places(), each.unwrap() * sizes.len() as u64);
        let mut seen = vec![0u64; labels.len()];
        let epochs = 7;
        for epoch in 0..epochs {
            let rows = all(&order, epoch);
            rows.iter().for_each(|row| seen[*row as usize] += 1);
            for turn in rows.chunks(sizes.len()) {
                let mut classes: Vec<i64> = turn.iter().map(|row| labels[*row as usize]).collect();
                classes.sort_unstable();
                prop_assert!(classes.iter().eq(sizes.keys()));
            }
            let fresh = Balanced::new(lie(labels.len()), &labels, mode, 17).unwrap();
            for place in (0..order.places()).rev().step_by(5) {
                prop_assert_eq!(fresh.rows(epoch, place..place + 1)[0], rows[place as usize]);
            }
        }
        for (label, seen) in labels.iter().zip(seen) {
            let passes = epochs * each.unwrap() / sizes[label];
            prop_assert!(seen == passes || seen == passes + 1, "{} came {} times in {} passes", label, seen, passes);
        }
        order.resolve(u64::MAX, &mut [order.places(), u64::MAX]);
    }
}

#[test]
fn turns_and_passes_change() {
    let labels: Vec<i64> = (0..3000).map(|row| row % 7 % 3).collect();
    let classes = |rows: &[u64]| -> Vec<i64> { rows.iter().map(|row| labels[*row as usize]).collect() };
    let order = Balanced::new(lie(3000), &labels, Balance::Over, 17).unwrap();
    let rows = all(&order, 0);
    assert_ne!(classes(&rows[0..60]), classes(&rows[60..120]));
    assert_ne!(rows, all(&order, 1));
    let other = Balanced::new(lie(3000), &labels, Balance::Over, 18).unwrap();
    assert_ne!(rows, all(&other, 0));
    assert_eq!(serde_json::to_string(&Balance::Under).unwrap(), "\"under\"");
}

/// The orders users get for a seed. A change here is breaking and belongs into CHANGELOG.md.
#[test]
fn pinned() {
    let weighted =
        |replacement| Weighted::new(lie(8), &WEIGHTS, None, replacement, 17).unwrap().rows(1, 0..6);
    assert_eq!(weighted(true), PINNED_AGAIN);
    assert_eq!(weighted(false), PINNED_ONCE);
    let labels = [0, 0, 0, 1, 1, 2];
    assert_eq!(Balanced::new(lie(6), &labels, Balance::Over, 17).unwrap().rows(1, 0..9), PINNED_BALANCED);
}

const PINNED_AGAIN: [u64; 6] = [6, 4, 6, 6, 6, 4];
const PINNED_ONCE: [u64; 6] = [7, 4, 2, 3, 6, 0];
const PINNED_BALANCED: [u64; 9] = [1, 5, 4, 0, 5, 4, 2, 3, 5];

#[test]
fn mistakes_are_named() {
    let weighted = |weights: &[f64], length, replacement| {
        Weighted::new(lie(3), weights, length, replacement, 17).unwrap_err().to_string()
    };
    assert!(weighted(&[1.0], None, true).contains("1 weights for 3 rows"));
    assert!(weighted(&[1.0, -1.0, 0.0], None, true).contains("row 1 is -1"));
    assert!(weighted(&[1.0, 1.0, f64::NAN], None, true).contains("row 2 is NaN"));
    assert!(weighted(&[f64::INFINITY, 1.0, 1.0], None, true).contains("row 0 is inf"));
    assert!(weighted(&[0.0; 3], None, true).contains("nothing to draw"));
    assert!(weighted(&[1.0; 3], Some(0), true).contains("at least 1"));
    assert!(weighted(&[1.0, 0.0, 1.0], Some(3), false).contains("replacement=True"));
    let balanced =
        |rows, labels: &[i64]| Balanced::new(lie(rows), labels, Balance::Over, 1).unwrap_err().to_string();
    assert!(balanced(3, &[1, 2]).contains("2 labels for 3 rows"));
    assert!(balanced(0, &[]).contains("no rows"));
}
