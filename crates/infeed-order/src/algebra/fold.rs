//! Cross-validation: one fold held out, the others for training.

use super::blocks::clipped;
use crate::{Below, Permutation};
use infeed_core::{Error, Order, Result, rng::mix};
use std::ops::Range;

/// Separates the random stream of folds from that of shuffles and splits with the same seed.
const STREAM: u64 = 0x666f_6c64;

/// One fold of several, or all but that one. The first `n % folds` folds have one extra place, as
/// in scikit-learn's `KFold`.
///
/// Like a split, it is the same in every epoch and uses epoch 0 of the underlying order: folds must not exchange rows.
#[derive(Debug)]
pub struct Fold {
    below: Below,
    permutation: Option<Permutation>,
    folds: u64,
    fold: u64,
    held_out: bool,
    /// The places of the held-out fold.
    hole: Range<u64>,
}

impl Fold {
    /// Selects fold number `fold` of `folds` if `held_out`, otherwise all the others. A seed shuffles before folding.
    pub fn new(below: Below, folds: u64, fold: u64, held_out: bool, seed: Option<u64>) -> Result<Self> {
        let places = below.places();
        if folds < 2 || folds > places {
            let what =
                format!("{places} places cannot be cut into {folds} folds; give a number from 2 to {places}");
            return Err(Error::plan("kfold", what));
        }
        if fold >= folds {
            let what = format!("there is no fold {fold}: there are {folds}, counted from 0");
            return Err(Error::plan("kfold", what));
        }
        let (size, larger) = (places / folds, places % folds);
        let start = fold * size + fold.min(larger);
        let hole = start..start + size + u64::from(fold < larger);
        let permutation = seed.map(|seed| Permutation::new(places, mix(seed ^ STREAM), 0));
        Ok(Fold { below, permutation, folds, fold, held_out, hole })
    }
}

impl Order for Fold {
    fn places(&self) -> u64 {
        let held_out = self.hole.end - self.hole.start;
        if self.held_out { held_out } else { self.below.places() - held_out }
    }

    fn resolve(&self, _epoch: u64, places: &mut [u64]) {
        let last = self.places() - 1;
        let (start, size) = (self.hole.start, self.hole.end - self.hole.start);
        if self.held_out {
            places.iter_mut().for_each(|place| *place = start + (*place).min(last));
        } else {
            for place in places.iter_mut() {
                let at = (*place).min(last);
                *place = at + if at < start { 0 } else { size };
            }
        }
        if let Some(permutation) = &self.permutation {
            permutation.resolve(places);
        }
        self.below.resolve(0, places);
    }

    fn blocks(&self) -> Option<Vec<u64>> {
        if self.permutation.is_some() {
            return None;
        }
        let blocks = self.below.blocks()?;
        Some(if self.held_out {
            clipped(&blocks, std::slice::from_ref(&self.hole))
        } else {
            clipped(&blocks, &[0..self.hole.start, self.hole.end..self.below.places()])
        })
    }

    fn is_fixed(&self) -> bool {
        self.below.is_fixed()
    }

    fn describe(&self) -> String {
        let which = if self.held_out { "" } else { "all but " };
        let how = if self.permutation.is_some() { " (shuffled)" } else { "" };
        format!("{}, {which}fold {} of {}{how}", self.below.describe(), self.fold, self.folds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sequential, algebra::check::holds};
    use infeed_core::OrderExt;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn rows(blocks: &[u64]) -> Below {
        Arc::new(Sequential::new(0, blocks))
    }

    #[test]
    fn sizes_and_blocks() {
        let fold = |fold, held_out| Fold::new(rows(&[4, 6]), 4, fold, held_out, None).unwrap();
        assert_eq!([0, 1, 2, 3].map(|f| fold(f, true).places()), [3, 3, 2, 2]);
        assert_eq!(fold(1, true).rows(0, 0..9), [3, 4, 5]);
        assert_eq!(fold(1, false).rows(0, 0..9), [0, 1, 2, 6, 7, 8, 9]);
        assert_eq!(fold(1, true).blocks(), Some(vec![1, 2]));
        assert_eq!(fold(1, false).blocks(), Some(vec![3, 4]));
        assert_eq!(Fold::new(rows(&[9]), 3, 0, true, Some(1)).unwrap().blocks(), None);
        assert!(Fold::new(rows(&[9]), 1, 0, true, None).is_err());
        assert!(Fold::new(rows(&[9]), 10, 0, true, None).unwrap_err().to_string().contains("from 2 to 9"));
        assert!(Fold::new(rows(&[9]), 3, 3, true, None).unwrap_err().to_string().contains("no fold 3"));
    }

    proptest! {
        /// Every fold and its complement make up the whole, and so do all folds together.
        #[test]
        fn folds_partition(n in 2u64..200, folds in 2u64..12, seed in prop::option::of(any::<u64>())) {
            prop_assume!(folds <= n);
            let sorted = |mut rows: Vec<u64>| { rows.sort_unstable(); rows };
            let all: Vec<u64> = (0..n).collect();
            let mut together = vec![];
            for fold in 0..folds {
                let part = |held_out| Fold::new(rows(&[n]), folds, fold, held_out, seed).unwrap();
                let held_out = part(true).rows(0, 0..n);
                let others = part(false).rows(0, 0..n);
                holds(&part(true), 3, &held_out);
                holds(&part(false), 3, &others);
                prop_assert_eq!(&sorted([&held_out[..], &others].concat()), &all);
                together.extend(held_out);
            }
            prop_assert_eq!(sorted(together), all);
        }
    }
}
