//! Which documents share a sequence.

use std::collections::BTreeSet;

/// Packs pieces of these lengths into bins of `room`, longest first: each into the first bin that has room for it, or
/// with `best` into the fullest such bin. Returns the pieces of each bin. Pieces of equal length keep their order, so
/// the result depends on the lengths alone. No piece may be longer than `room`.
pub(super) fn fit(lengths: &[usize], room: usize, best: bool) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|piece| std::cmp::Reverse(lengths[*piece]));
    let mut bins: Vec<Vec<usize>> = vec![];
    let (mut by_room, mut tree) = (BTreeSet::new(), Tree::new(lengths.len()));
    for piece in order {
        let len = lengths[piece];
        let found = if best { by_room.range((len, 0)..).next().copied() } else { tree.first(len) };
        let (left, bin) = found.unwrap_or((room, bins.len()));
        if bin == bins.len() {
            bins.push(vec![]);
        }
        bins[bin].push(piece);
        let left = left.saturating_sub(len);
        if best {
            if let Some(old) = found {
                by_room.remove(&old);
            }
            by_room.insert((left, bin));
        } else {
            tree.set(bin, left);
        }
    }
    bins
}

/// A binary tree over the bins; each node holds the largest room below it. Finds the first bin with enough room.
struct Tree {
    leaves: usize,
    most: Vec<usize>,
}

impl Tree {
    fn new(bins: usize) -> Self {
        let leaves = bins.next_power_of_two();
        Tree { leaves, most: vec![0; 2 * leaves] }
    }

    fn set(&mut self, bin: usize, room: usize) {
        let mut at = self.leaves + bin;
        self.most[at] = room;
        while at > 1 {
            at /= 2;
            self.most[at] = self.most[2 * at].max(self.most[2 * at + 1]);
        }
    }

    /// Returns the first bin with at least `room`, and how much it has. Pieces have at least one token, so bins that
    /// do not exist yet (no room) are never found.
    fn first(&self, room: usize) -> Option<(usize, usize)> {
        if self.most[1] < room.max(1) {
            return None;
        }
        let mut at = 1;
        while at < self.leaves {
            at *= 2;
            if self.most[at] < room {
                at += 1;
            }
        }
        Some((self.most[at], at - self.leaves))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same rules, by linear search over the bins.
    fn plain(lengths: &[usize], room: usize, best: bool) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|piece| std::cmp::Reverse(lengths[*piece]));
        let mut bins: Vec<(usize, Vec<usize>)> = vec![];
        for piece in order {
            let len = lengths[piece];
            let fitting = (0..bins.len()).filter(|bin| bins[*bin].0 >= len);
            let found = if best { fitting.min_by_key(|bin| bins[*bin].0) } else { fitting.min() };
            let bin = found.unwrap_or_else(|| {
                bins.push((room, vec![]));
                bins.len() - 1
            });
            bins[bin].0 -= len;
            bins[bin].1.push(piece);
        }
        bins.into_iter().map(|(_, pieces)| pieces).collect()
    }

    proptest! {
        #[test]
        fn the_rules_hold(lengths in prop::collection::vec(1usize..50, 0..80), room in 50usize..120) {
            for best in [false, true] {
                let bins = fit(&lengths, room, best);
                let mut all: Vec<usize> = bins.concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
                prop_assert!(bins.iter().all(|bin| bin.iter().map(|p| lengths[*p]).sum::<usize>() <= room));
                prop_assert_eq!(bins, plain(&lengths, room, best));
            }
        }
    }

    #[test]
    fn nothing_and_one() {
        assert!(fit(&[], 5, true).is_empty() && fit(&[], 5, false).is_empty());
        assert_eq!(fit(&[5], 5, false), [[0]]);
    }
}
