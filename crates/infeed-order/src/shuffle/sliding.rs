//! A shuffle for data that is far away: blocks come and go one at a time.
//!
//! The blocks are permuted. At any moment up to `window` of them are open, and rows come from all open blocks in turn. When the
//! rows of the oldest block are used up, the next block opens. So a reader needs one new block for each that it has used, at an
//! even rate. Windows that follow each other ([`BlockShuffle`](super::BlockShuffle)) need all blocks of the next one at once.
//!
//! An epoch is cut into *groups*, one for each block. Block `i` gives rows to the groups `first(i)..=i`, to each about
//! the same number, chosen by a permutation of the block's rows. The rows of a group are permuted, too:
//!
//! ```text
//! window 3   group 0   group 1   group 2   group 3   group 4
//! block 0    ######
//! block 1              ######
//! block 2              ###       ###
//! block 3                        ###       ###
//! block 4                        ##        ##        ##
//! ```
//!
//! The first group has a quarter of the window, and two blocks open with each group until all of it is open: the first rows
//! do not wait for a whole window. No place requires walking the epoch: its group is found by a binary search.

use super::{block_starts, shuffle};
use crate::{Below, Permutation, recent::Recent};
use infeed_core::{Order, Recurrence, Result, Rng};
use std::{ops::Range, sync::Arc};

/// Random streams: the order of the blocks, the rows of blocks, their shares, and the rows of groups.
const BLOCKS: u64 = 0x0073_6c69_6465;
const ROWS: u64 = 0x736c_726f_7773;
const SHARES: u64 = 0x736c_7368_6172;
const GROUPS: u64 = 0x736c_6772_7073;

/// Number of epochs that are cached: the one being read and the one being prefetched.
const EPOCHS: usize = 2;
/// Number of groups that are cached: those of some batches in flight, and of the announcements before them.
const KEPT: usize = 32;

/// Blocks in random order, each spread over the places of a window of blocks.
///
/// Takes 8 bytes per block, 20 more per block for each of two epochs, and 4 bytes per row of the open blocks.
#[derive(Debug)]
pub struct SlidingShuffle {
    below: Below,
    seed: u64,
    window: usize,
    /// Where each block begins in the underlying order, followed by the end of the last one. No block is empty.
    starts: Vec<u64>,
    epochs: Recent<u64, Epoch>,
    groups: Recent<(u64, usize), Group>,
}

/// The blocks in the order of an epoch.
#[derive(Debug)]
struct Epoch {
    blocks: Vec<u32>,
    /// The place where each group begins, followed by the end.
    starts: Vec<u64>,
}

/// Places that draw from the same open blocks.
#[derive(Debug)]
struct Group {
    places: Range<u64>,
    shares: Vec<Share>,
    permutation: Permutation,
}

/// What one block gives to a group.
#[derive(Debug)]
struct Share {
    /// Which block of the epoch.
    block: usize,
    /// Where its rows begin in the underlying order.
    start: u64,
    /// Where the share begins among the rows of the group.
    at: u64,
    /// How many rows the block gave to earlier groups.
    given: u64,
    rows: Arc<Permutation>,
}

impl SlidingShuffle {
    /// Shuffles the blocks of an order, with at most `window` of them open at a time. With `cut`, blocks are first split into
    /// pieces of at most that many rows.
    pub fn new(below: Below, seed: u64, window: u64, cut: Option<u64>) -> Result<Self> {
        let starts = block_starts(&below, "sliding", window, cut)?;
        // More than there are blocks is all of them.
        let window = usize::try_from(window).unwrap_or(usize::MAX).min(starts.len());
        Ok(SlidingShuffle {
            below,
            seed,
            window,
            starts,
            epochs: Recent::new(EPOCHS),
            groups: Recent::new(KEPT),
        })
    }

    /// The first group that a block gives rows to. Its last is the one with its own number.
    fn first(&self, block: usize) -> usize {
        let begin = self.window.div_ceil(4);
        let steady = (block + 1).saturating_sub(self.window);
        let opening = if block < begin { 0 } else { (block - begin) / 2 + 1 };
        steady.max(opening)
    }

    /// How many blocks have opened by a group.
    fn opened(&self, group: usize, blocks: usize) -> usize {
        (group + self.window.min(self.window.div_ceil(4) + group)).min(blocks)
    }

    /// How the rows of a block are spread: the number of groups, and a number that makes blocks of the same length differ in
    /// which groups get a row more than others.
    fn spread(&self, epoch: u64, block: usize) -> (u64, u64) {
        let groups = (block - self.first(block) + 1) as u64;
        (groups, Rng::at(self.seed, epoch, block as u64, SHARES).below(groups))
    }

    fn epoch(&self, epoch: u64) -> Arc<Epoch> {
        self.epochs.get(epoch, || {
            let count = self.starts.len() - 1;
            let mut blocks: Vec<u32> = (0..count as u32).collect();
            shuffle(&mut blocks, &mut Rng::at(self.seed, epoch, count as u64, BLOCKS));
            // First how many rows each group has, shifted by one; then where it begins.
            let mut starts = vec![0u64; count + 1];
            for (block, stored) in blocks.iter().enumerate() {
                let rows = self.starts[*stored as usize + 1] - self.starts[*stored as usize];
                let (groups, mut carried) = self.spread(epoch, block);
                // As `given` for one group after the other, without a division for each.
                let (each, rest) = (rows / groups, rows % groups);
                for start in &mut starts[self.first(block) + 1..=block + 1] {
                    carried += rest;
                    let more = carried >= groups;
                    carried -= if more { groups } else { 0 };
                    *start += each + u64::from(more);
                }
            }
            let mut at = 0;
            for start in &mut starts {
                at += *start;
                *start = at;
            }
            Epoch { blocks, starts }
        })
    }

    fn group(&self, epoch: u64, of: &Epoch, number: usize) -> Arc<Group> {
        // Most blocks were open in the group before.
        let before = number.checked_sub(1).and_then(|number| self.groups.find(&(epoch, number)));
        self.groups.get((epoch, number), || {
            let places = of.starts[number]..of.starts[number + 1];
            let mut at = 0;
            let mut shares = Vec::with_capacity(self.window);
            for block in number..self.opened(number, of.blocks.len()) {
                let stored = of.blocks[block] as usize;
                let (start, rows) = (self.starts[stored], self.starts[stored + 1] - self.starts[stored]);
                let (groups, carried) = self.spread(epoch, block);
                let past = (number - self.first(block)) as u64;
                let given = |groups_past: u64| {
                    ((u128::from(rows) * u128::from(groups_past) + u128::from(carried)) / u128::from(groups))
                        as u64
                };
                let known = before.as_ref().and_then(|before| before.share(block));
                let rows = known.unwrap_or_else(|| {
                    let key = Rng::at(self.seed, epoch, block as u64, ROWS).next_u64();
                    Arc::new(Permutation::new(rows, key, epoch))
                });
                shares.push(Share { block, start, at, given: given(past), rows });
                at += given(past + 1) - given(past);
            }
            let key = Rng::at(self.seed, epoch, number as u64, GROUPS).next_u64();
            Group { permutation: Permutation::new(places.end - places.start, key, epoch), places, shares }
        })
    }
}

impl Epoch {
    /// The group that holds a place, which must be below the end.
    fn group(&self, place: u64) -> usize {
        self.starts[1..self.starts.len() - 1].partition_point(|start| *start <= place)
    }
}

impl Group {
    /// The permutation of the rows of a block, if it is open.
    fn share(&self, block: usize) -> Option<Arc<Permutation>> {
        let first = self.shares.first()?.block;
        self.shares.get(block.checked_sub(first)?).map(|share| Arc::clone(&share.rows))
    }

    fn row(&self, place: u64) -> u64 {
        let at = self.permutation.at(place - self.places.start);
        let next = self.shares.partition_point(|share| share.at <= at);
        // Shares may be empty: the last that begins at or before the row has it.
        self.shares
            .get(next.saturating_sub(1))
            .map_or(0, |share| share.start + share.rows.at(share.given + at - share.at))
    }
}

impl Order for SlidingShuffle {
    fn places(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let (Some(last), Some(first)) = (self.places().checked_sub(1), places.first().copied()) else {
            return;
        };
        let of = self.epoch(epoch);
        let mut group = self.group(epoch, &of, of.group(first.min(last)));
        for place in places.iter_mut() {
            let at = (*place).min(last);
            if !group.places.contains(&at) {
                group = self.group(epoch, &of, of.group(at));
            }
            *place = group.row(at);
        }
        self.below.resolve(epoch, places);
    }

    /// Returns the lengths of as many groups together as the window has blocks. Those of epoch 0 are returned.
    fn blocks(&self) -> Option<Vec<u64>> {
        let of = self.epoch(0);
        let groups = of.starts.len() - 1;
        let bounds: Vec<u64> = (of.starts.iter().copied().step_by(self.window))
            .chain((!groups.is_multiple_of(self.window)).then(|| self.places()))
            .collect();
        Some(bounds.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    /// All rows of an epoch are mixed among themselves.
    fn recurrence(&self) -> Recurrence {
        self.below.recurrence()
    }

    fn describe(&self) -> String {
        let count = self.starts.len() - 1;
        let (below, window, seed) = (self.below.describe(), self.window.min(count), self.seed);
        format!("{below}, sliding shuffle ({count} blocks, {window} of them open at a time, seed {seed})")
    }
}
