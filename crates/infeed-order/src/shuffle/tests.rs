//! Guarantees of all shuffles, over many layouts, and those of each shuffle.

use super::*;
use crate::{Below, Global, Sequential};
use infeed_core::{Order, OrderExt, Rng};
use proptest::prelude::*;
use std::{collections::HashMap, sync::Arc};

fn lie(blocks: &[u64]) -> Below {
    Arc::new(Sequential::new(0, blocks))
}

fn all(order: &dyn Order, epoch: u64) -> Vec<u64> {
    order.rows(epoch, 0..order.places())
}

/// Lengths without a pattern.
fn lengths(rows: u64) -> Arc<[u32]> {
    (0..rows).map(|row| Rng::at(5, 0, row, 0).below(1000) as u32).collect()
}

/// Each row once; the same rows for any access pattern and any equal order; no panic for places beyond the end.
fn is_a_permutation(make: &dyn Fn(u64) -> Box<dyn Order>, rows: u64) -> Result<(), TestCaseError> {
    let order = make(17);
    prop_assert_eq!(order.places(), rows);
    let epochs: Vec<Vec<u64>> = (0..3).map(|epoch| all(&*order, epoch)).collect();
    for (epoch, found) in epochs.iter().enumerate() {
        let epoch = epoch as u64;
        let mut sorted = found.clone();
        sorted.sort_unstable();
        prop_assert!(sorted.into_iter().eq(0..rows), "not each row once in {}", order.describe());
        let fresh = make(17);
        // Backwards with a stride, one place at a time: nothing may depend on earlier calls.
        for place in (0..rows).rev().step_by(7) {
            let got = fresh.rows(epoch, place..place + 1);
            prop_assert_eq!(got, &found[place as usize..=place as usize]);
        }
        let mut scattered: Vec<u64> = (0..rows).map(|i| (i * 7919) % rows.max(1)).collect();
        let wanted: Vec<u64> = scattered.iter().map(|place| found[*place as usize]).collect();
        fresh.resolve(epoch, &mut scattered);
        prop_assert_eq!(scattered, wanted);
        let mut beyond = [rows, rows + 1, u64::MAX];
        fresh.resolve(epoch, &mut beyond);
        prop_assert!(rows == 0 || beyond.iter().all(|row| *row < rows));
    }
    if let Some(blocks) = order.blocks() {
        prop_assert_eq!(blocks.iter().sum::<u64>(), rows);
    }
    Ok(())
}

fn layout() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![Just(0u64), 1..4u64, 1..60u64], 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn block(blocks in layout(), window in 1u64..40, cut in prop::option::of(1u64..20)) {
        let make = |seed| Box::new(BlockShuffle::new(lie(&blocks), seed, window, cut).unwrap()) as Box<dyn Order>;
        is_a_permutation(&make, blocks.iter().sum())?;
    }

    #[test]
    fn sliding(blocks in layout(), window in 1u64..40, cut in prop::option::of(1u64..20)) {
        let make = |seed| Box::new(SlidingShuffle::new(lie(&blocks), seed, window, cut).unwrap()) as Box<dyn Order>;
        is_a_permutation(&make, blocks.iter().sum())?;
    }

    /// Each block that opens does so after another has closed: at no place are more open than the window, and blocks open one
    /// after the other over the whole epoch.
    #[test]
    fn few_blocks_are_open(count in 1usize..60, rows in 1u64..30, window in 1u64..20) {
        let order = SlidingShuffle::new(lie(&vec![rows; count]), 17, window, None).unwrap();
        let found: Vec<u64> = all(&order, 2).iter().map(|row| row / rows).collect();
        let mut left: HashMap<u64, u64> = HashMap::new();
        let mut most = 0;
        for block in &found {
            let left_of_it = left.entry(*block).or_insert(rows);
            *left_of_it -= 1;
            most = most.max(left.values().filter(|left| **left > 0).count());
        }
        // The rows of a group are mixed, so blocks of the group before may be open as well.
        prop_assert!(most as u64 <= window + 1, "{most} open of {window}");
    }

    #[test]
    fn buffer(rows in 0u64..400, size in 1u64..500, initial in 0u64..500) {
        let make = |seed| Box::new(Buffer::new(lie(&[rows]), seed, size, initial).unwrap()) as Box<dyn Order>;
        is_a_permutation(&make, rows)?;
    }

    #[test]
    fn by_length(rows in 0u64..400, window in 1u64..500, group in 1u64..50) {
        let below: Below = Arc::new(Global::new(lie(&[rows]), 3));
        let make = |seed| {
            Box::new(ByLength::new(below.clone(), lengths(rows), window, group, seed).unwrap()) as Box<dyn Order>
        };
        is_a_permutation(&make, rows)?;
    }

    /// The rows of each window come from as many blocks as it has, and every block is in exactly one window.
    #[test]
    fn a_window_has_its_blocks(count in 1usize..40, rows in 1u64..20, window in 1u64..10) {
        let order = BlockShuffle::new(lie(&vec![rows; count]), 17, window, None).unwrap();
        let found = all(&order, 2);
        let mut at = 0;
        let mut seen = vec![false; count];
        for length in order.blocks().unwrap() {
            let mut blocks: Vec<u64> = found[at..at + length as usize].iter().map(|row| row / rows).collect();
            blocks.sort_unstable();
            blocks.dedup();
            prop_assert_eq!(blocks.len() as u64 * rows, length);
            prop_assert!(blocks.iter().all(|block| !std::mem::replace(&mut seen[*block as usize], true)));
            at += length as usize;
        }
        prop_assert!(seen.into_iter().all(|seen| seen));
    }

    #[test]
    fn a_buffer_is_a_mixer(rows in 0u64..300, size in 1u64..100, initial in 0u64..100, epoch in 0u64..3) {
        let mut mixer = Mixer::new(size, initial, 17, epoch);
        let mut stream: Vec<u64> = (0..rows).filter_map(|place| mixer.push(place)).collect();
        stream.extend(std::iter::from_fn(|| mixer.drain()));
        prop_assert_eq!(all(&Buffer::new(lie(&[rows]), 17, size, initial).unwrap(), epoch), stream);
    }
}

#[test]
fn seed_and_epoch_decide() {
    let blocks = [50u64; 20];
    type Make = fn(Below, u64) -> Box<dyn Order>;
    let makes: [Make; 4] = [
        |below, seed| Box::new(BlockShuffle::new(below, seed, 4, None).unwrap()),
        |below, seed| Box::new(SlidingShuffle::new(below, seed, 4, None).unwrap()),
        |below, seed| Box::new(Buffer::new(below, seed, 100, 10).unwrap()),
        |below, seed| Box::new(ByLength::new(below, lengths(1000), 200, 10, seed).unwrap()),
    ];
    for make in makes {
        let order = make(lie(&blocks), 17);
        assert_eq!(all(&*order, 3), all(&*make(lie(&blocks), 17), 3));
        assert_ne!(all(&*order, 3), all(&*order, 4), "{}", order.describe());
        assert_ne!(all(&*order, 3), all(&*make(lie(&blocks), 18), 3), "{}", order.describe());
    }
}

/// The orders users get for a seed. A change here is breaking and belongs into CHANGELOG.md.
#[test]
fn pinned() {
    let rows = |order: &dyn Order| order.rows(1, 0..10);
    assert_eq!(rows(&BlockShuffle::new(lie(&[4, 0, 3, 5]), 17, 2, None).unwrap()), PINNED_BLOCK);
    assert_eq!(rows(&SlidingShuffle::new(lie(&[4, 0, 3, 5]), 17, 2, None).unwrap()), PINNED_SLIDING);
    assert_eq!(rows(&Buffer::new(lie(&[12]), 17, 4, 2).unwrap()), PINNED_BUFFER);
    assert_eq!(rows(&ByLength::new(lie(&[12]), lengths(12), 6, 2, 17).unwrap()), PINNED_BY_LENGTH);
}

const PINNED_BLOCK: [u64; 10] = [9, 11, 10, 8, 6, 4, 5, 7, 0, 2];
const PINNED_SLIDING: [u64; 10] = [11, 8, 7, 10, 9, 4, 5, 6, 3, 2];
const PINNED_BUFFER: [u64; 10] = [0, 2, 5, 3, 7, 4, 6, 10, 1, 11];
const PINNED_BY_LENGTH: [u64; 10] = [5, 0, 4, 1, 3, 2, 7, 11, 10, 8];

/// Seeking to a checkpoint deep in a large epoch does not walk the epoch: the last of 10^8 places, in any epoch.
#[test]
fn seeks_at_once() {
    let sliding = SlidingShuffle::new(lie(&[1000; 100_000]), 17, 16, None).unwrap();
    let order = BlockShuffle::new(lie(&[1000; 100_000]), 17, 16, None).unwrap();
    for (epoch, order) in [(0, &order as &dyn Order), (1_000_000_007, &order), (0, &sliding), (5, &sliding)] {
        let last = order.rows(epoch, 99_999_984..100_000_000);
        assert_eq!(last.len(), 16);
        // They come from the last window of at most 16 shards.
        let shards: std::collections::BTreeSet<u64> = last.iter().map(|row| row / 1000).collect();
        assert!(shards.len() <= 16 && last.iter().all(|row| *row < 100_000_000), "{last:?}");
    }
}

/// Blocks open at an even rate, so that a reader over a network never needs many of them at once.
#[test]
fn blocks_open_evenly() {
    let (count, rows, window) = (400, 40, 64);
    let order = SlidingShuffle::new(lie(&vec![rows; count]), 17, window, None).unwrap();
    let mut seen = vec![false; count];
    let mut opened = Vec::new();
    for batch in all(&order, 1).chunks(rows as usize) {
        let fresh = batch.iter().filter(|row| !std::mem::replace(&mut seen[(**row / rows) as usize], true));
        opened.push(fresh.count());
    }
    // After the first batches, in which the window opens: as many rows, one block more or less.
    let steady = &opened[70..300];
    assert!(steady.iter().all(|fresh| *fresh <= 4), "{steady:?}");
    assert!(opened[0] <= 20 && opened[1..70].iter().all(|fresh| *fresh <= 8), "{opened:?}");
    // Rows of one block are far apart: over more than half of a window.
    let found = all(&order, 1);
    let places: Vec<usize> = (0..found.len()).filter(|place| found[*place] / rows == 200).collect();
    assert!(places[places.len() - 1] - places[0] > (rows * window / 2) as usize);
}

#[test]
fn a_short_group_stays_last() {
    let rows = 103;
    let order = ByLength::new(lie(&[rows]), lengths(rows), 40, 10, 17).unwrap();
    let found = all(&order, 0);
    // The last window has 23 rows: two groups, and the three longest rows.
    let longest_before = found[80..100].iter().map(|row| lengths(rows)[*row as usize]).max();
    assert!(found[100..].iter().all(|row| Some(lengths(rows)[*row as usize]) >= longest_before));
}

#[test]
fn sorting_saves_padding() {
    let rows = 10_000;
    let below: Below = Arc::new(Global::new(lie(&[rows]), 3));
    let waste = |order: &dyn Order| {
        let found: Vec<u32> = all(order, 0).iter().map(|row| lengths(rows)[*row as usize]).collect();
        padding_waste(found.chunks(32))
    };
    let sorted = waste(&ByLength::new(below.clone(), lengths(rows), 3200, 32, 17).unwrap());
    assert!(waste(&below) > 0.4 && sorted < 0.02, "{} and {sorted}", waste(&below));
    assert_eq!(padding_waste([]), 0.0);
}

#[test]
fn mistakes_are_named() {
    let shuffled: Below = Arc::new(Global::new(lie(&[10]), 3));
    let said = |error: infeed_core::Error| error.to_string();
    assert!(said(BlockShuffle::new(shuffled.clone(), 1, 4, None).unwrap_err()).contains("kind=\"global\""));
    assert!(said(SlidingShuffle::new(shuffled, 1, 4, None).unwrap_err()).contains("kind=\"global\""));
    assert!(said(SlidingShuffle::new(lie(&[10]), 1, 0, None).unwrap_err()).contains("at least 1"));
    assert!(said(BlockShuffle::new(lie(&[10]), 1, 0, None).unwrap_err()).contains("at least 1"));
    assert!(said(BlockShuffle::new(lie(&[10]), 1, 1, Some(0)).unwrap_err()).contains("at least 1"));
    assert!(said(BlockShuffle::new(lie(&[1 << 40]), 1, 1, Some(1)).unwrap_err()).contains("larger cut"));
    assert!(said(Buffer::new(lie(&[10]), 1, 0, 0).unwrap_err()).contains("at least 1"));
    assert!(said(ByLength::new(lie(&[10]), lengths(10), 0, 5, 1).unwrap_err()).contains("window of 0"));
    assert!(said(ByLength::new(lie(&[10]), lengths(10), 5, 0, 1).unwrap_err()).contains("group of 0"));
    assert!(said(ByLength::new(lie(&[10]), lengths(9), 5, 5, 1).unwrap_err()).contains("9 lengths"));
}
