//! A shuffle that reads few blocks at a time.
//!
//! The blocks (shards, row groups) are permuted, and all rows of each `window` consecutive blocks are shuffled among
//! themselves:
//!
//! ```text
//! storage   [ A ] [ B ] [ C ] [ D ] [ E ]
//! blocks    [ D ] [ A ] [ E ] [ C ] [ B ]      permuted per epoch
//! window 2  [D A A D A D] [E C C E C E] [B B B]
//! ```
//!
//! A batch touches about `window` blocks (twice as many across a boundary), so each block is read once per epoch and
//! then dropped. No place requires walking the epoch: it is found by two binary searches.

use super::{block_starts, shuffle};
use crate::{Below, Permutation, recent::Recent};
use infeed_core::{Order, Recurrence, Result, Rng};
use std::{ops::Range, sync::Arc};

/// Random streams: the order of the blocks, and the keys of the windows.
const BLOCKS: u64 = 0x626c_6f63_6b73;
const WINDOWS: u64 = 0x7769_6e64_6f77;

/// Number of epochs that are cached: the one being read and the one being prefetched.
const EPOCHS: usize = 2;
/// Number of windows whose permutation is cached: those of a few batches in flight. At most 256 KiB each.
const KEPT: usize = 4;

/// Blocks in random order, and rows mixed within windows of blocks.
///
/// Takes 8 bytes per block, 12 more per block for each of two epochs, and 4 bytes per row of the last few windows
/// (none for windows of more than 65,536 rows).
#[derive(Debug)]
pub struct BlockShuffle {
    below: Below,
    seed: u64,
    window: usize,
    cut: Option<u64>,
    /// Where each block begins in the underlying order, followed by the end of the last one. No block is empty.
    starts: Vec<u64>,
    epochs: Recent<u64, Epoch>,
    windows: Recent<(u64, u64), Permutation>,
}

/// The blocks in the order of an epoch.
#[derive(Debug)]
struct Epoch {
    blocks: Vec<u32>,
    /// The place where each begins in the epoch, followed by the end.
    starts: Vec<u64>,
}

/// Consecutive blocks of an epoch that are shuffled together.
struct Window {
    places: Range<u64>,
    blocks: Range<usize>,
    permutation: Arc<Permutation>,
}

impl BlockShuffle {
    /// Shuffles the blocks of an order, and the rows within each `window` of them. With `cut`, blocks are first split
    /// into pieces of at most that many rows: better mixing from large shards, at the cost of more and smaller reads.
    pub fn new(below: Below, seed: u64, window: u64, cut: Option<u64>) -> Result<Self> {
        let starts = block_starts(&below, "block", window, cut)?;
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        Ok(BlockShuffle {
            below,
            seed,
            window,
            cut,
            starts,
            epochs: Recent::new(EPOCHS),
            windows: Recent::new(KEPT),
        })
    }

    fn epoch(&self, epoch: u64) -> Arc<Epoch> {
        self.epochs.get(epoch, || {
            let count = self.starts.len() - 1;
            let mut blocks: Vec<u32> = (0..count as u32).collect();
            shuffle(&mut blocks, &mut Rng::at(self.seed, epoch, count as u64, BLOCKS));
            let mut starts = Vec::with_capacity(count + 1);
            let mut at = 0;
            starts.push(0);
            for block in &blocks {
                let block = *block as usize;
                at += self.starts[block + 1] - self.starts[block];
                starts.push(at);
            }
            Epoch { blocks, starts }
        })
    }

    /// Returns the window that contains a place, which must be below the end.
    fn window(&self, epoch: u64, of: &Epoch, place: u64) -> Window {
        let number = of.block(0..of.blocks.len(), place) / self.window;
        let first = number * self.window;
        let blocks = first..first.saturating_add(self.window).min(of.blocks.len());
        let places = of.starts[blocks.start]..of.starts[blocks.end];
        let permutation = self.windows.get((epoch, number as u64), || {
            let key = Rng::at(self.seed, epoch, number as u64, WINDOWS).next_u64();
            Permutation::new(places.end - places.start, key, epoch)
        });
        Window { places, blocks, permutation }
    }
}

impl Epoch {
    /// Returns which of these blocks contains the place; one of them must.
    fn block(&self, blocks: Range<usize>, place: u64) -> usize {
        blocks.start + self.starts[blocks.start + 1..blocks.end].partition_point(|start| *start <= place)
    }
}

impl Order for BlockShuffle {
    fn places(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let (Some(last), Some(first)) = (self.places().checked_sub(1), places.first().copied()) else {
            return;
        };
        let of = self.epoch(epoch);
        // A batch lies in one or two windows, so the window is looked up only when it changes, not per place.
        let mut window = self.window(epoch, &of, first.min(last));
        for place in places.iter_mut() {
            let at = (*place).min(last);
            if !window.places.contains(&at) {
                window = self.window(epoch, &of, at);
            }
            let at = window.places.start + window.permutation.at(at - window.places.start);
            let block = of.block(window.blocks.clone(), at);
            *place = self.starts[of.blocks[block] as usize] + (at - of.starts[block]);
        }
        self.below.resolve(epoch, places);
    }

    /// Returns the lengths of the windows. With blocks of different lengths these change from epoch to epoch; those
    /// of epoch 0 are returned.
    fn blocks(&self) -> Option<Vec<u64>> {
        let of = self.epoch(0);
        let bounds: Vec<u64> = (of.starts.iter().copied().step_by(self.window))
            .chain((!of.blocks.len().is_multiple_of(self.window)).then(|| self.places()))
            .collect();
        Some(bounds.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    /// All rows of an epoch are mixed among themselves.
    fn recurrence(&self) -> Recurrence {
        self.below.recurrence()
    }

    fn describe(&self) -> String {
        let cut = self.cut.map_or(String::new(), |rows| format!(" of at most {rows} rows"));
        format!(
            "{}, block shuffle ({} blocks{cut}, window {}, seed {})",
            self.below.describe(),
            self.starts.len() - 1,
            self.window,
            self.seed
        )
    }
}
