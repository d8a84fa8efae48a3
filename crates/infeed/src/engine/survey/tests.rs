use super::spread;
use crate::transform::Tally;
use proptest::prelude::*;

proptest! {
    #[test]
    fn places_are_spread(rows in 1u64..10_000, count in 1u64..500) {
        let count = count.min(rows);
        let places = spread(rows, count);
        prop_assert_eq!(places.len() as u64, count);
        prop_assert!(places.windows(2).all(|w| w[0] < w[1]), "{:?}", places);
        prop_assert!(places.iter().all(|p| (0..rows as i64).contains(p)));
    }

    #[test]
    fn merging_is_as_good_as_two_passes(values in prop::collection::vec(-1e3f64..1e3, 2..200), cut in 0usize..200, base in prop::sample::select(vec![0.0, 1e9])) {
        let values: Vec<f64> = values.iter().map(|x| x + base).collect();
        let one = |x: &f64| Tally { count: 1.0, mean: *x, squares: 0.0, low: *x, high: *x };
        let all = |part: &[f64]| part.iter().map(one).fold(Tally::NONE, Tally::with);
        let (left, right) = values.split_at(cut.min(values.len()));
        let merged = all(left).with(all(right));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        prop_assert!((merged.mean - mean).abs() <= 1e-12 * mean.abs().max(1.0));
        prop_assert!((merged.squares - squares).abs() <= 1e-6 * squares.max(1.0), "{} {}", merged.squares, squares);
        prop_assert_eq!(merged.count, n);
    }
}
