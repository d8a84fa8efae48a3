//! Repeats an order.

use super::group;
use crate::Below;
use infeed_core::{Error, Order, Result};

/// With more blocks than this, the list of them is not worth its memory.
const MOST_BLOCKS: u64 = 1 << 24;

/// Several epochs of the underlying order as one: repetition `i` of epoch `e` is its epoch `e * times + i`. So an
/// underlying shuffle differs between repetitions, and no two epochs share one.
#[derive(Debug)]
pub struct Repeat {
    /// A single order, as the slice that [`group::ask`] takes.
    below: [Below; 1],
    times: u64,
    /// Number of places in one repetition.
    each: u64,
    places: u64,
}

impl Repeat {
    /// Repeats an order.
    pub fn new(below: Below, times: u64) -> Result<Self> {
        if times == 0 {
            return Err(Error::plan("repeat", "0 repetitions leave nothing; give at least 1"));
        }
        let each = below.places();
        let places = each.checked_mul(times).ok_or_else(|| {
            let what = format!("{times} repetitions of {each} places are more than 2^64; repeat less often");
            Error::plan("repeat", what)
        })?;
        Ok(Repeat { below: [below], times, each, places })
    }
}

impl Order for Repeat {
    fn places(&self) -> u64 {
        self.places
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let Some(last) = self.places.checked_sub(1) else {
            return places.fill(0);
        };
        // Wraps only after 2^64 epochs, and the result is still a valid epoch.
        let first = epoch.wrapping_mul(self.times);
        let mut whom = Vec::with_capacity(places.len());
        let (mut repetition, mut start) = (0u64, 0u64);
        for place in places.iter_mut() {
            let at = (*place).min(last);
            // Consecutive places mostly share a repetition, and a comparison is cheaper than a division.
            if at < start || at - start >= self.each {
                repetition = at / self.each;
                start = repetition * self.each;
            }
            *place = at - start;
            whom.push((0, first.wrapping_add(repetition)));
        }
        group::ask(&self.below, &whom, places);
    }

    fn blocks(&self) -> Option<Vec<u64>> {
        let blocks = self.below[0].blocks()?;
        let count = self.times.saturating_mul(blocks.len() as u64);
        (count <= MOST_BLOCKS).then(|| blocks.repeat(if blocks.is_empty() { 0 } else { self.times as usize }))
    }

    fn is_fixed(&self) -> bool {
        self.below[0].is_fixed()
    }

    fn describe(&self) -> String {
        format!("{}, {} times", self.below[0].describe(), self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Global, Sequential, algebra::check::holds};
    use infeed_core::OrderExt;
    use proptest::prelude::*;
    use std::sync::Arc;

    #[test]
    fn nonsense_and_blocks() {
        let rows = |n| -> Below { Arc::new(Sequential::new(0, [n, n])) };
        assert!(Repeat::new(rows(1), 0).is_err());
        assert!(Repeat::new(rows(1 << 40), 1 << 30).unwrap_err().to_string().contains("repeat less often"));
        assert_eq!(Repeat::new(rows(3), 2).unwrap().blocks(), Some(vec![3; 4]));
        assert_eq!(Repeat::new(rows(3), 1 << 40).unwrap().blocks(), None);
    }

    proptest! {
        #[test]
        fn each_repetition_is_an_epoch(n in 0u64..50, times in 1u64..9, epoch in 0u64..5, seed in any::<u64>()) {
            let below: Below = Arc::new(Global::new(Arc::new(Sequential::of(n)), seed));
            let epochs = epoch * times..(epoch + 1) * times;
            let expected: Vec<u64> = epochs.flat_map(|epoch| below.rows(epoch, 0..n)).collect();
            holds(&Repeat::new(below, times).unwrap(), epoch, &expected);
        }
    }
}
