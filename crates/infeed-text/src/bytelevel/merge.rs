//! Merges bytes into tokens: the merge table, and how it is applied to a word.

use std::{cmp::Reverse, collections::BinaryHeap};

/// No merge. Real values are smaller: ranks are line numbers in a file.
const NONE: u64 = u64::MAX;

/// Maps a pair of tokens to (rank, token) with open addressing: a word needs many lookups, and this
/// table has no indirection.
#[derive(Debug)]
pub(super) struct Merges {
    /// The pair; and the rank in the upper half, the token in the lower. Empty slots have the pair `NONE`.
    slots: Vec<(u64, u64)>,
    shift: u32,
}

impl Merges {
    /// Builds a table of merges in rank order. Of duplicate pairs the last counts, as in the library.
    pub(super) fn new(merges: &[(u32, u32, u32)]) -> Self {
        let bits = (merges.len().max(8) * 2).next_power_of_two().trailing_zeros();
        let mut table = Merges { slots: vec![(NONE, NONE); 1 << bits], shift: 64 - bits };
        for (rank, (left, right, token)) in merges.iter().enumerate() {
            let key = pair(*left, *right);
            let at = table.place(key);
            table.slots[at] = (key, (rank as u64) << 32 | u64::from(*token));
        }
        table
    }

    /// Returns the slot where the pair is or would be. At least half of the slots are free, so the search ends.
    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            let found = self.slots[at & mask].0;
            if found == key || found == NONE {
                return at & mask;
            }
            at += 1;
        }
    }

    /// Returns rank and token in one number, or [`NONE`].
    #[inline(always)]
    fn get(&self, left: u32, right: u32) -> u64 {
        self.slots[self.place(pair(left, right))].1
    }
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Up to this many bytes, the best merge of a word is found by scanning; longer words use a heap.
const SHORT: usize = 48;

/// Buffers for merging, reused between words.
#[derive(Debug, Default)]
pub(super) struct Merger {
    tokens: Vec<u32>,
    merges: Vec<u64>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// For long words: the neighbours of each token; a removed token points to itself on the left.
    links: Vec<(u32, u32)>,
}

impl Merger {
    /// Returns the tokens of a word, given the tokens of its bytes. Repeatedly applies the merge of lowest rank,
    /// the leftmost among equals.
    pub(super) fn merge(&mut self, table: &Merges, bytes: impl Iterator<Item = u32>) -> &[u32] {
        self.tokens.clear();
        self.tokens.extend(bytes);
        if self.tokens.len() > SHORT {
            self.long(table)
        } else {
            self.short(table)
        }
        &self.tokens
    }

    fn short(&mut self, table: &Merges) {
        let Merger { tokens, merges, .. } = self;
        merges.clear();
        merges.extend(tokens.windows(2).map(|w| table.get(w[0], w[1])));
        loop {
            // The rank is the upper half, so the smallest number is the best merge; `min_by_key`
            // returns the first of equals.
            let Some((at, best)) = merges.iter().copied().enumerate().min_by_key(|(_, m)| *m) else { return };
            if best == NONE {
                return;
            }
            tokens[at] = best as u32;
            tokens.remove(at + 1);
            merges.remove(at);
            if at > 0 {
                merges[at - 1] = table.get(tokens[at - 1], tokens[at]);
            }
            if at < merges.len() {
                merges[at] = table.get(tokens[at], tokens[at + 1]);
            }
        }
    }

    fn long(&mut self, table: &Merges) {
        const END: u32 = u32::MAX;
        let Merger { tokens, heap, links, .. } = self;
        let count = tokens.len() as u32;
        links.clear();
        links.extend((0..count).map(|i| (i.wrapping_sub(1), if i + 1 == count { END } else { i + 1 })));
        heap.clear();
        let ask =
            |tokens: &[u32], left: u32, right: u32| table.get(tokens[left as usize], tokens[right as usize]);
        for left in 0..count.saturating_sub(1) {
            let merge = ask(tokens, left, left + 1);
            if merge != NONE {
                heap.push(Reverse((merge, left)));
            }
        }
        while let Some(Reverse((merge, at))) = heap.pop() {
            let (before, right) = links[at as usize];
            // An entry may be outdated.
            if before == at || right == END || ask(tokens, at, right) != merge {
                continue;
            }
            let after = links[right as usize].1;
            tokens[at as usize] = merge as u32;
            links[right as usize].0 = right;
            links[at as usize].1 = after;
            if after != END {
                links[after as usize].0 = at;
                let merge = ask(tokens, at, after);
                if merge != NONE {
                    heap.push(Reverse((merge, at)));
                }
            }
            if before != END {
                let merge = ask(tokens, before, at);
                if merge != NONE {
                    heap.push(Reverse((merge, before)));
                }
            }
        }
        let mut at = if count == 0 { END } else { 0 };
        let mut kept = 0;
        while at != END {
            tokens[kept] = tokens[at as usize];
            kept += 1;
            at = links[at as usize].1;
        }
        tokens.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_heap_and_the_search_agree(
            word in prop::collection::vec(0u32..4, 0..120),
            merges in prop::collection::vec((0u32..12, 0u32..12), 0..40),
        ) {
            let merges: Vec<_> = merges.iter().enumerate().map(|(n, (a, b))| (*a, *b, 4 + n as u32 % 8)).collect();
            let table = Merges::new(&merges);
            let (mut one, mut two) = (Merger::default(), Merger::default());
            one.tokens = word.clone();
            two.tokens = word;
            one.short(&table);
            two.long(&table);
            prop_assert_eq!(one.tokens, two.tokens);
        }
    }
}
