//! A global shuffle: every epoch is a keyed permutation of all rows.

use super::Permutation;
use infeed_core::Order;
use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

/// All rows, in an order that (seed, epoch) decide.
#[derive(Debug)]
pub struct Shuffle {
    rows: u64,
    seed: u64,
    /// The last epoch's permutation. Only a memo: it can be made again from (rows, seed, epoch) at any time.
    memo: Mutex<Option<(u64, Arc<Permutation>)>>,
}

impl Shuffle {
    /// A shuffle of `rows` rows.
    pub fn new(rows: u64, seed: u64) -> Self {
        Shuffle { rows, seed, memo: Mutex::new(None) }
    }

    fn permutation(&self, epoch: u64) -> Arc<Permutation> {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        match &*memo {
            Some((e, p)) if *e == epoch => Arc::clone(p),
            _ => {
                let made = Arc::new(Permutation::new(self.rows, self.seed, epoch));
                *memo = Some((epoch, Arc::clone(&made)));
                made
            }
        }
    }
}

impl Order for Shuffle {
    fn places(&self, _epoch: u64) -> u64 {
        self.rows
    }

    fn rows_at(&self, epoch: u64, places: Range<u64>, into: &mut Vec<u64>) {
        let permutation = self.permutation(epoch);
        into.extend((places.start.min(self.rows)..places.end.min(self.rows)).map(|p| permutation.at(p)));
    }

    fn describe(&self) -> String {
        format!("global shuffle, seed {}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::{Cursor, OrderExt};

    fn epoch(order: &Shuffle, epoch: u64) -> Vec<u64> {
        let mut rows = vec![];
        order.rows_at(epoch, 0..order.places(epoch) + 10, &mut rows);
        rows
    }

    #[test]
    fn seed_and_epoch_decide() {
        let order = Shuffle::new(1000, 17);
        assert_eq!(epoch(&order, 3), epoch(&Shuffle::new(1000, 17), 3));
        assert_ne!(epoch(&order, 3), epoch(&order, 4));
        assert_ne!(epoch(&order, 3), epoch(&Shuffle::new(1000, 18), 3));
        assert_eq!(order.row_at(Cursor { epoch: 3, place: 7 }), Some(epoch(&order, 3)[7]));
        assert_eq!(order.row_at(Cursor { epoch: 3, place: 1000 }), None);
    }

    /// The order users get for a seed. A change here is breaking and belongs into CHANGELOG.md.
    #[test]
    fn pinned() {
        let small: Vec<u64> = epoch(&Shuffle::new(10, 17), 0);
        assert_eq!(small, PINNED_SMALL);
        let large = Shuffle::new(1_000_000_007, 17);
        let some: Vec<u64> = (0..4).filter_map(|place| large.row_at(Cursor { epoch: 2, place })).collect();
        assert_eq!(some, PINNED_LARGE);
    }

    const PINNED_SMALL: [u64; 10] = [6, 4, 7, 9, 8, 5, 0, 3, 2, 1];
    const PINNED_LARGE: [u64; 4] = [143_411_343, 454_009_201, 629_776_776, 817_026_487];
}
