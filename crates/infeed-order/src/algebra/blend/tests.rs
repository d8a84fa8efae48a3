//! Tests the blend against its definition.

use super::{table::Table, *};
use crate::{Global, Sequential, algebra::check::holds};
use infeed_core::OrderExt;
use proptest::prelude::*;
use std::sync::Arc;

/// The definition: the part and sample at each place.
pub(crate) fn plain(weights: &[f64], size: u64) -> Vec<(usize, u64)> {
    let mut used = vec![0u64; weights.len()];
    let mut chosen = vec![];
    for i in 0..size {
        let error = |d: usize| weights[d] * i.max(1) as f64 - used[d] as f64;
        let mut best = 0;
        for d in 1..weights.len() {
            if error(d) > error(best) {
                best = d;
            }
        }
        chosen.push((best, used[best]));
        used[best] += 1;
    }
    chosen
}

/// The places of an epoch, ending where the length says.
pub(crate) fn plain_epoch(weights: &[f64], lengths: &[u64], length: BlendLength) -> Vec<(usize, u64)> {
    let most = lengths.iter().sum::<u64>() as f64 * 2.0 + 20.0;
    let least = weights.iter().copied().fold(1.0, f64::min);
    let all = plain(weights, if let BlendLength::Exactly(n) = length { n } else { (most / least) as u64 });
    let end = match length {
        BlendLength::Exactly(_) => all.len(),
        BlendLength::First => all.iter().position(|&(d, k)| k >= lengths[d]).unwrap(),
        BlendLength::All => {
            let last_of = |d: usize| all.iter().position(|&chosen| chosen == (d, lengths[d] - 1)).unwrap();
            (0..lengths.len()).map(last_of).max().unwrap() + 1
        }
    };
    all[..end].to_vec()
}

fn parts(lengths: &[u64]) -> Vec<Below> {
    let part = |(i, &length)| -> Below { Arc::new(Sequential::new(1000 * i as u64, [length])) };
    lengths.iter().enumerate().map(part).collect()
}

fn weight() -> impl Strategy<Value = f64> {
    // Round weights produce ties; with tiny ones, keys are not exact for a long time.
    prop_oneof![(1u32..9).prop_map(f64::from), 0.01f64..1.0, 1e-4f64..1e-2]
}

fn length() -> impl Strategy<Value = BlendLength> {
    prop_oneof![Just(BlendLength::First), Just(BlendLength::All), (0u64..1500).prop_map(BlendLength::Exactly)]
}

#[test]
fn nonsense() {
    let error = |lengths: &[u64], weights: &[f64], length| {
        Blend::new(parts(lengths), weights, length).unwrap_err().to_string()
    };
    assert!(error(&[1, 2], &[1.0], BlendLength::First).contains("2 parts with 1 weights"));
    assert!(error(&[1, 0], &[1.0, 1.0], BlendLength::First).contains("part 1 is empty"));
    assert!(error(&[], &[], BlendLength::First).contains("at least one"));
    assert!(error(&[1 << 50, 1], &[1.0, 1.0], BlendLength::All).contains("too many"));
    assert!(error(&[9, 9], &[1.0, 1e-30], BlendLength::All).contains("too many"));
    assert!(error(&[9, 9], &[1.0, 1.0], BlendLength::Exactly(1 << 41)).contains("too many"));
    assert!(Blend::new(parts(&[1 << 50, 9]), &[1.0, 1.0], BlendLength::First).is_ok());
}

#[test]
fn a_weight_of_zero_is_never_drawn() {
    let order = Blend::new(parts(&[0, 8, 8]), &[0.0, 0.5, 0.5], BlendLength::First).unwrap();
    assert_eq!(order.places(), 16);
    assert!(order.rows(0, 0..16).iter().all(|row| *row >= 1000));
    // The plain formula would draw it as soon as all others have exactly their share.
    assert_eq!(plain(&[0.0, 0.5, 0.5], 3)[2].0, 0);
}

#[test]
fn what_is_left_comes_in_the_next_epoch() {
    let order = Blend::new(parts(&[4, 3]), &[3.0, 1.0], BlendLength::Exactly(4)).unwrap();
    let of_second =
        |epoch| order.rows(epoch, 0..4).into_iter().filter(|row| *row >= 1000).collect::<Vec<_>>();
    assert_eq!([0, 1, 2, 3].map(of_second), [[1000], [1001], [1002], [1000]]);
    assert!(order.rows(u64::MAX, 0..4).len() == 4);
}

#[test]
fn many_parts() {
    for count in [256usize, 257, 700] {
        let weights: Vec<f64> = (0..count).map(|part| 1.0 + (part * part % 17) as f64).collect();
        let order = Blend::new(parts(&vec![9; count]), &weights, BlendLength::Exactly(6000)).unwrap();
        let chosen = plain(&normalized(&weights).unwrap(), 6000);
        let expected: Vec<u64> = chosen.iter().map(|&(d, k)| 1000 * d as u64 + k % 9).collect();
        holds(&order, 0, &expected);
    }
}

/// Long enough that the exponents change often and keys wrap.
#[test]
fn long_ones() {
    for weights in
        [&[0.537_1, 0.291_4, 0.171_5][..], &[1.0, 1.0, 1.0], &[0.999, 0.001], &[3.0, 5.0, 8.0, 1.0, 1.0]]
    {
        let weights = normalized(weights).unwrap();
        let (parts, samples) = blending_indices(&weights, 300_000).unwrap();
        let arrays = parts.into_iter().zip(samples).map(|(part, sample)| (part as usize, sample as u64));
        assert!(arrays.eq(plain(&weights, 300_000)), "{weights:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// With arbitrary weights, including ones that are 0 or do not add up to 1.
    #[test]
    fn arrays_as_defined(
        weights in prop::collection::vec(prop_oneof![4 => weight(), 1 => Just(0.0)], 1..12),
        normal in any::<bool>(),
        size in 0u64..9000,
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0.0));
        let weights = if normal { normalized(&weights).unwrap() } else { weights };
        let (parts, samples) = blending_indices(&weights, size).unwrap();
        let arrays = parts.into_iter().zip(samples).map(|(part, sample)| (part as usize, sample as u64));
        prop_assert!(arrays.eq(plain(&weights, size)));
    }

    #[test]
    fn epochs_as_defined(
        recipe in prop::collection::vec((weight(), 1u64..60), 2..12),
        length in length(),
        epoch in 0u64..4,
        seed in any::<u64>(),
    ) {
        let (weights, lengths): (Vec<f64>, Vec<u64>) = recipe.into_iter().unzip();
        let weights: Vec<f64> = weights.iter().map(|weight| weight.max(0.05)).collect();
        let shuffled: Vec<Below> = parts(&lengths).into_iter().map(|p| Arc::new(Global::new(p, seed)) as Below).collect();
        let chosen = plain_epoch(&normalized(&weights).unwrap(), &lengths, length);
        let mut asked = vec![0; lengths.len()];
        chosen.iter().for_each(|(part, _)| asked[*part] += 1);
        let row = |&(d, k): &(usize, u64)| {
            let at = epoch * asked[d] + k;
            shuffled[d].rows(at / lengths[d], at % lengths[d]..at % lengths[d] + 1)[0]
        };
        let expected: Vec<u64> = chosen.iter().map(row).collect();
        let order = Blend::new(shuffled.clone(), &weights, length).unwrap();
        holds(&order, epoch, &expected);
    }

    /// Recomputed choices equal the stored ones.
    #[test]
    fn replayed_as_kept(
        recipe in prop::collection::vec((weight(), 1u64..4000), 1..12),
        length in prop_oneof![Just(BlendLength::First), Just(BlendLength::Exactly(30_000))],
        start in any::<u64>(),
    ) {
        let (weights, lengths): (Vec<f64>, Vec<u64>) = recipe.into_iter().unzip();
        let weights = normalized(&weights).unwrap();
        let both = [true, false].map(|keep| Table::keeping(weights.clone(), &lengths, length, keep).unwrap());
        let [kept, replayed] = &both;
        prop_assert_eq!(kept.places(), replayed.places());
        prop_assert_eq!(kept.asked(), replayed.asked());
        prop_assume!(kept.places() > 0);
        let start = start % kept.places();
        for places in [(start..start + 500).collect::<Vec<_>>(), (0..12).rev().map(|i| i * 777).collect()] {
            let answers = both.each_ref().map(|table| {
                let (mut places, mut whom) = (places.clone(), vec![(0, 0); places.len()]);
                table.locate(&mut places, &mut whom);
                (places, whom.into_iter().map(|whom| whom.0).collect::<Vec<_>>())
            });
            prop_assert_eq!(&answers[0], &answers[1]);
        }
    }
}
