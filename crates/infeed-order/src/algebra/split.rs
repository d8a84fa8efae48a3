//! One part of a random split: training, validation, test.

use crate::{Below, Permutation};
use infeed_core::{Error, Order, Result, rng::mix};
use serde::{Deserialize, Serialize};

/// Separates the random stream of splits from that of shuffles: with the same seed, the first part would otherwise be
/// a prefix of the shuffle.
const STREAM: u64 = 0x0073_706c_6974;

/// How far a sum of fractions may be from 1 and still count as 1.
const CLOSE: f64 = 1e-9;

/// The sizes of the parts of a split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// Numbers of places. Remaining places belong to no part.
    Counts(Vec<u64>),
    /// Fractions of the whole, each rounded down. If they add up to 1, the remaining places are handed out one by one
    /// from the first part on, as `torch.utils.data.random_split` does. If they add up to less, they belong to no part.
    Fractions(Vec<f64>),
}

impl Lengths {
    /// Returns the size of each part when `places` places are split.
    pub fn counts(&self, places: u64) -> Result<Vec<u64>> {
        match self {
            Lengths::Counts(counts) => {
                let sum: u128 = counts.iter().map(|count| u128::from(*count)).sum();
                if sum > u128::from(places) {
                    let what = format!("the parts need {sum} places, but there are {places}; ask for fewer");
                    return Err(Error::plan("random_split", what));
                }
                Ok(counts.clone())
            }
            Lengths::Fractions(fractions) => shares(places, fractions),
        }
    }
}

fn shares(places: u64, fractions: &[f64]) -> Result<Vec<u64>> {
    if let Some(wrong) = fractions.iter().find(|fraction| !(0.0..=f64::INFINITY).contains(*fraction)) {
        let what = format!("{wrong} is no fraction; give numbers from 0 to 1 that add up to 1 or less");
        return Err(Error::plan("random_split", what));
    }
    let sum: f64 = fractions.iter().sum();
    if sum > 1.0 + CLOSE {
        let what = format!("the fractions add up to {sum}; they must add up to 1 or less");
        return Err(Error::plan("random_split", what));
    }
    let mut left = places;
    let mut counts: Vec<u64> = Vec::with_capacity(fractions.len());
    for fraction in fractions {
        // A sum slightly over 1 may ask for a few places more than there are.
        let count = ((places as f64 * fraction).floor() as u64).min(left);
        left -= count;
        counts.push(count);
    }
    if sum >= 1.0 - CLOSE && !counts.is_empty() {
        let parts = counts.len() as u64;
        for (part, count) in (0..parts).zip(&mut counts) {
            *count += left / parts + u64::from(part < left % parts);
        }
    }
    Ok(counts)
}

/// One part of a random split. The parts of one split have no place in common.
///
/// Which rows are in a part must not change during training, so this order is the same in every epoch and uses epoch
/// 0 of the underlying order: an underlying shuffle does not move rows from one part to another. To shuffle anew in
/// each epoch, shuffle the part.
#[derive(Debug)]
pub struct Split {
    below: Below,
    permutation: Permutation,
    index: usize,
    start: u64,
    count: u64,
}

impl Split {
    /// Selects part `index` of a split into parts of these lengths.
    pub fn new(below: Below, lengths: &Lengths, index: usize, seed: u64) -> Result<Self> {
        let places = below.places();
        let counts = lengths.counts(places)?;
        let Some(&count) = counts.get(index) else {
            let what =
                format!("there is no part {index}: the split has {} parts, counted from 0", counts.len());
            return Err(Error::plan("random_split", what));
        };
        if count == 0 {
            let what =
                format!("part {index} of {places} places would be empty; make it larger or leave it out");
            return Err(Error::plan("random_split", what));
        }
        let permutation = Permutation::new(places, mix(seed ^ STREAM), 0);
        Ok(Split { below, permutation, index, start: counts[..index].iter().sum(), count })
    }
}

impl Order for Split {
    fn places(&self) -> u64 {
        self.count
    }

    fn resolve(&self, _epoch: u64, places: &mut [u64]) {
        places.iter_mut().for_each(|place| *place = self.start + (*place).min(self.count - 1));
        self.permutation.resolve(places);
        self.below.resolve(0, places);
    }

    fn is_fixed(&self) -> bool {
        self.below.is_fixed()
    }

    fn describe(&self) -> String {
        format!("{}, part {} of a random split ({} places)", self.below.describe(), self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Global, Sequential, algebra::check::holds};
    use infeed_core::OrderExt;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn rows(n: u64) -> Below {
        Arc::new(Sequential::of(n))
    }

    /// Same counts as `torch.utils.data.random_split`.
    #[test]
    fn counts_as_torch() {
        let counts = |n, fractions: &[f64]| Lengths::Fractions(fractions.to_vec()).counts(n).unwrap();
        assert_eq!(counts(10, &[0.8, 0.1, 0.1]), [8, 1, 1]);
        assert_eq!(counts(11, &[0.8, 0.1, 0.1]), [9, 1, 1]);
        assert_eq!(counts(19, &[0.5, 0.25, 0.25]), [10, 5, 4]);
        assert_eq!(counts(3, &[0.25; 4]), [1, 1, 1, 0]);
        assert_eq!(counts(10, &[0.55, 0.25]), [5, 2]);
    }

    #[test]
    fn places_beyond_the_end_stay_in_their_part() {
        let part = |index| Split::new(rows(10), &Lengths::Counts(vec![4, 6]), index, 3).unwrap();
        let (first, second) = (part(0), part(1));
        let mut beyond = [4, u64::MAX];
        first.resolve(0, &mut beyond);
        assert_eq!(beyond, [first.rows(0, 3..4)[0]; 2]);
        assert!(!second.rows(0, 0..6).contains(&beyond[0]));
    }

    #[test]
    fn nonsense() {
        let error = |lengths, index| Split::new(rows(10), &lengths, index, 0).unwrap_err().to_string();
        let fractions = |list: &[f64]| Lengths::Fractions(list.to_vec());
        assert!(error(fractions(&[-0.1, 0.5]), 1).contains("-0.1 is no fraction"));
        assert!(error(fractions(&[f64::NAN]), 0).contains("no fraction"));
        assert!(error(fractions(&[0.7, 0.4]), 0).contains("add up to 1.1"));
        assert!(error(fractions(&[0.95, 0.05]), 2).contains("no part 2"));
        assert!(error(fractions(&[0.96, 0.02]), 1).contains("part 1 of 10 places would be empty"));
        assert!(error(Lengths::Counts(vec![8, 3]), 0).contains("need 11 places"));
        assert!(error(Lengths::Counts(vec![u64::MAX; 3]), 0).contains("ask for fewer"));
    }

    #[test]
    fn a_shuffle_below_moves_no_row_to_the_other_part() {
        let shuffled: Below = Arc::new(Global::new(rows(100), 3));
        let part = Split::new(shuffled, &Lengths::Counts(vec![60, 40]), 0, 3).unwrap();
        assert_eq!(part.rows(0, 0..60), part.rows(5, 0..60));
        let whole = Split::new(rows(100), &Lengths::Counts(vec![100]), 0, 3).unwrap();
        assert_ne!(whole.rows(0, 0..100), Global::new(rows(100), 3).rows(0, 0..100));
    }

    proptest! {
        #[test]
        fn parts_partition(n in 5u64..400, cut in 1u64..5, seed in any::<u64>(), fractions in any::<bool>()) {
            let lengths = if fractions {
                Lengths::Fractions(vec![0.5, 0.3, 0.2])
            } else {
                Lengths::Counts(vec![cut, n - cut])
            };
            let mut all = vec![];
            for (index, count) in lengths.counts(n).unwrap().into_iter().enumerate() {
                let part = Split::new(rows(n), &lengths, index, seed).unwrap();
                let rows = part.rows(0, 0..n);
                prop_assert_eq!(rows.len() as u64, count);
                holds(&part, 7, &rows);
                all.extend(rows);
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
    }
}
