//! A global shuffle: every epoch is a keyed permutation of all places.

use crate::{Below, Permutation, recent::Recent};
use infeed_core::{Order, Recurrence};

/// Number of epochs whose permutation is cached: the one being read, the one being prefetched, and some
/// for orders that mix epochs.
const KEPT: usize = 8;

/// All places of the underlying order, permuted by (seed, epoch).
#[derive(Debug)]
pub struct Global {
    below: Below,
    seed: u64,
    epochs: Recent<u64, Permutation>,
}

impl Global {
    /// Shuffles an order.
    pub fn new(below: Below, seed: u64) -> Self {
        Global { below, seed, epochs: Recent::new(KEPT) }
    }
}

impl Order for Global {
    fn places(&self) -> u64 {
        self.below.places()
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let permutation = self.epochs.get(epoch, || Permutation::new(self.places(), self.seed, epoch));
        permutation.resolve(places);
        self.below.resolve(epoch, places);
    }

    /// All rows of an epoch are mixed among themselves.
    fn recurrence(&self) -> Recurrence {
        self.below.recurrence()
    }

    fn describe(&self) -> String {
        format!("{}, global shuffle (seed {})", self.below.describe(), self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequential;
    use infeed_core::{Cursor, OrderExt};
    use std::sync::Arc;

    fn shuffle(rows: u64, seed: u64) -> Global {
        Global::new(Arc::new(Sequential::of(rows)), seed)
    }

    fn epoch(order: &Global, epoch: u64) -> Vec<u64> {
        order.rows(epoch, 0..order.places() + 10)
    }

    #[test]
    fn seed_and_epoch_decide() {
        let order = shuffle(1000, 17);
        assert_eq!(epoch(&order, 3), epoch(&shuffle(1000, 17), 3));
        assert_ne!(epoch(&order, 3), epoch(&order, 4));
        assert_ne!(epoch(&order, 3), epoch(&shuffle(1000, 18), 3));
        assert_eq!(order.row_at(Cursor { epoch: 3, place: 7 }), Some(epoch(&order, 3)[7]));
        assert_eq!(order.row_at(Cursor { epoch: 3, place: 1000 }), None);
    }

    /// The order users get for a seed. A change here is breaking and belongs into CHANGELOG.md.
    #[test]
    fn pinned() {
        assert_eq!(epoch(&shuffle(10, 17), 0), PINNED_SMALL);
        let large = shuffle(1_000_000_007, 17);
        assert_eq!(large.rows(2, 0..4), PINNED_LARGE);
    }

    const PINNED_SMALL: [u64; 10] = [6, 4, 7, 9, 8, 5, 0, 3, 2, 1];
    const PINNED_LARGE: [u64; 4] = [143_411_343, 454_009_201, 629_776_776, 817_026_487];
}
