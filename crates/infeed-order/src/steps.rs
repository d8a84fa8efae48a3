//! Divides an epoch into steps, and each step into one share per rank.
//!
//! A step is one *global* batch: the next `global` places of the epoch. The ranks take contiguous pieces of it, so
//! the global batches are the same for every world size, and every rank has the same number of steps by construction.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How to treat the rows at the end of an epoch that do not fill a global batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Last {
    /// They form a smaller batch, divided evenly. A rank that would get no row receives a repeated row, marked as such.
    #[default]
    Short,
    /// They are dropped.
    Drop,
    /// Rows from the start of the epoch fill the batch, marked as such.
    Pad,
}

/// The steps of one rank from a given place of an epoch to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Number of places in the epoch.
    pub places: u64,
    /// The place where the first step begins.
    pub from: u64,
    /// Places per step, over all ranks.
    pub global: u64,
    /// How to treat the incomplete last batch.
    pub last: Last,
    /// Rank, below `size`.
    pub rank: u64,
    /// Number of ranks.
    pub size: u64,
}

/// The share of one rank in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Its places.
    pub places: Range<u64>,
    /// Padding: places that are delivered a second time. They come after the others and are marked.
    pub pads: Range<u64>,
}

impl Steps {
    /// Returns the number of steps, which is the same for every rank.
    pub fn count(&self) -> u64 {
        let left = self.places.saturating_sub(self.from);
        match self.last {
            Last::Drop => left / self.global.max(1),
            Last::Short | Last::Pad => left.div_ceil(self.global.max(1)),
        }
    }

    /// Returns the places of a step over all ranks, without padding.
    pub fn global_places(&self, step: u64) -> Range<u64> {
        let start = self.from.saturating_add(step.saturating_mul(self.global)).min(self.places);
        start..start.saturating_add(self.global).min(self.places)
    }

    /// Returns the share of this rank in a step.
    pub fn share(&self, step: u64) -> Share {
        let all = self.global_places(step);
        let rows = all.end - all.start;
        // Divided by the size of a full batch, so that a padded batch is divided at the same places.
        let cut = if self.last == Last::Short { rows } else { self.global };
        let at = |rank: u64| (u128::from(rank) * u128::from(cut) / u128::from(self.size.max(1))) as u64;
        let (low, high) = (at(self.rank), at(self.rank + 1));
        let places = all.start + low.min(rows)..all.start + high.min(rows);
        let pads = match self.last {
            Last::Drop => 0..0,
            // The padding of all ranks together is the places 0, 1, 2, ... of the epoch.
            Last::Pad => low.max(rows) - rows..high.max(rows) - rows,
            Last::Short if places.is_empty() => {
                self.rank % self.places.max(1)..self.rank % self.places.max(1) + 1
            }
            Last::Short => 0..0,
        };
        Share { places, pads }
    }
}

impl Share {
    /// Returns the number of samples, including padding.
    pub fn len(&self) -> u64 {
        (self.places.end - self.places.start) + (self.pads.end - self.pads.start)
    }

    /// Returns whether the share is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all places of the share, padding last. Padding longer than the epoch wraps around.
    pub fn list(&self, places: u64) -> Vec<u64> {
        self.places.clone().chain(self.pads.clone().map(|p| p % places.max(1))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(places: u64, global: u64, last: Last, rank: u64, size: u64) -> Steps {
        Steps { places, from: 0, global, last, rank, size }
    }

    #[test]
    fn ends_of_epochs() {
        let share = |last, rank| steps(10, 4, last, rank, 2).share(2);
        assert_eq!(share(Last::Short, 0), Share { places: 8..9, pads: 0..0 });
        assert_eq!(share(Last::Short, 1), Share { places: 9..10, pads: 0..0 });
        assert_eq!(share(Last::Pad, 0), Share { places: 8..10, pads: 0..0 });
        assert_eq!(share(Last::Pad, 1), Share { places: 10..10, pads: 0..2 });
        assert_eq!(steps(10, 4, Last::Drop, 0, 2).count(), 2);
        // One row is left for three ranks: two of them get a repeated row.
        let alone = |rank| steps(7, 3, Last::Short, rank, 3).share(2);
        assert_eq!(
            [alone(0), alone(1), alone(2)]
                .map(|s| (s.places.end - s.places.start, s.len()))
                .iter()
                .filter(|s| **s == (0, 1))
                .count(),
            2
        );
    }

    fn last() -> impl Strategy<Value = Last> {
        prop_oneof![Just(Last::Short), Just(Last::Drop), Just(Last::Pad)]
    }

    proptest! {
        /// Ranks partition every step, take the same number of steps, and cover the epoch.
        #[test]
        fn ranks_partition(places in 1u64..400, from in 0u64..400, each in 1u64..9, size in 1u64..17, last in last()) {
            let global = each * size;
            let of = |rank| Steps { places, from: from.min(places), global, last, rank, size };
            let count = of(0).count();
            let mut seen = vec![0u32; places as usize];
            for rank in 0..size {
                prop_assert_eq!(of(rank).count(), count);
                for step in 0..count {
                    let share = of(rank).share(step);
                    prop_assert!(share.len() <= each);
                    prop_assert!(!share.is_empty());
                    if last == Last::Pad || last == Last::Drop {
                        prop_assert_eq!(share.len(), each);
                    }
                    for place in share.places {
                        seen[place as usize] += 1;
                    }
                }
            }
            let end = if last == Last::Drop { from.min(places) + count * global } else { places };
            for (place, n) in seen.iter().enumerate() {
                let promised = (from.min(places)..end).contains(&(place as u64));
                prop_assert_eq!(*n, u32::from(promised), "place {}", place);
            }
        }

        /// The global batches do not depend on the world size, even where it does not divide the batch.
        #[test]
        fn the_world_does_not_matter(places in 1u64..400, global in 16u64..64, size in 1u64..17, last in last()) {
            for step in 0..steps(places, global, last, 0, 1).count() {
                let whole = steps(places, global, last, 0, 1).share(step).list(places);
                let mut parts: Vec<Share> = (0..size).map(|rank| steps(places, global, last, rank, size).share(step)).collect();
                if last == Last::Short {
                    parts.retain(|p| !p.places.is_empty());
                }
                let (mut real, mut pads) = (vec![], vec![]);
                for part in parts {
                    real.extend(part.places);
                    pads.extend(part.pads.map(|p| p % places));
                }
                real.extend(pads);
                prop_assert_eq!(real, whole);
            }
        }
    }
}
