//! What `explain()` says of every order.
#![allow(clippy::unwrap_used)]

use infeed_order::{
    Balance, Balanced, Below, Blend, BlendLength, BlockShuffle, Buffer, ByLength, Concat, Fold, Global,
    Interleave, Lengths, Pick, Repeat, Sequential, Slice, Split, Stop, Weighted,
};
use std::sync::Arc;

fn rows(n: u64) -> Below {
    Arc::new(Sequential::of(n))
}

fn parts(n: u64) -> Vec<Below> {
    (1..=n).map(rows).collect()
}

#[test]
fn every_order_says_what_it_does() {
    let labels = [0, 0, 0, 1, 1, 0, 0, 1, 0, 2];
    let cases: [(Below, &str); 23] = [
        (rows(10), "10 rows as they lie"),
        (Arc::new(Global::new(rows(10), 3)), "10 rows as they lie, global shuffle (seed 3)"),
        (
            Arc::new(BlockShuffle::new(rows(10), 3, 2, None).unwrap()),
            "10 rows as they lie, block shuffle (1 blocks, window 2, seed 3)",
        ),
        (
            Arc::new(BlockShuffle::new(rows(10), 3, 2, Some(4)).unwrap()),
            "10 rows as they lie, block shuffle (3 blocks of at most 4 rows, window 2, seed 3)",
        ),
        (
            Arc::new(Buffer::new(rows(10), 3, 5, 2).unwrap()),
            "10 rows as they lie, buffer shuffle (5 rows, 2 before the first, seed 3)",
        ),
        (
            Arc::new(Buffer::new(rows(10), 3, 5, 9).unwrap()),
            "10 rows as they lie, buffer shuffle (5 rows, 5 before the first, seed 3)",
        ),
        (
            Arc::new(ByLength::new(rows(4), Arc::from([5, 1, 4, 2]), 4, 2, 3).unwrap()),
            "4 rows as they lie, by length (groups of 2 in windows of 4, seed 3)",
        ),
        (
            Arc::new(Balanced::new(rows(10), &labels, Balance::Over, 3).unwrap()),
            "10 rows as they lie, 3 classes in turn, as long as the largest (seed 3)",
        ),
        (
            Arc::new(Balanced::new(rows(10), &labels, Balance::Under, 3).unwrap()),
            "10 rows as they lie, 3 classes in turn, as long as the smallest (seed 3)",
        ),
        (
            Arc::new(Weighted::new(rows(2), &[1.0, 3.0], Some(7), true, 3).unwrap()),
            "2 rows as they lie, 7 drawn by weight with replacement (seed 3)",
        ),
        (
            Arc::new(Weighted::new(rows(2), &[1.0, 3.0], Some(1), false, 3).unwrap()),
            "2 rows as they lie, 1 drawn by weight without replacement (seed 3)",
        ),
        (
            Arc::new(Slice::new(rows(10), 1, 9, 3).unwrap()),
            "10 rows as they lie, 3 places from 1 in steps of 3",
        ),
        (
            Arc::new(Slice::python(rows(10), None, None, Some(-4)).unwrap()),
            "10 rows as they lie, 3 places from 9 in steps of -4",
        ),
        (Arc::new(Pick::new(rows(10), vec![9, 1]).unwrap()), "10 rows as they lie, 2 picked places"),
        (
            Arc::new(Split::new(rows(10), &Lengths::Counts(vec![4, 6]), 1, 3).unwrap()),
            "10 rows as they lie, part 1 of a random split (6 places)",
        ),
        (Arc::new(Fold::new(rows(10), 5, 2, true, None).unwrap()), "10 rows as they lie, fold 2 of 5"),
        (
            Arc::new(Fold::new(rows(10), 5, 2, false, Some(1)).unwrap()),
            "10 rows as they lie, all but fold 2 of 5 (shuffled)",
        ),
        (Arc::new(Repeat::new(rows(10), 3).unwrap()), "10 rows as they lie, 3 times"),
        (
            Arc::new(Concat::new(parts(2)).unwrap()),
            "one after the other: [1 rows as they lie; 2 rows as they lie]",
        ),
        (
            Arc::new(Concat::new(parts(4)).unwrap()),
            "one after the other: [1 rows as they lie; 2 rows as they lie; 3 rows as they lie; 4 rows as they lie]",
        ),
        (
            Arc::new(Concat::new(parts(6)).unwrap()),
            "one after the other: [1 rows as they lie; 2 rows as they lie; 3 rows as they lie; 4 rows as they lie; 2 more]",
        ),
        (
            Arc::new(Interleave::new(parts(2), 3, Stop::All).unwrap()),
            "3 in turn from each: [1 rows as they lie; 2 rows as they lie]",
        ),
        (
            Arc::new(Blend::new(parts(2), &[0.5, 0.5], BlendLength::Exactly(10)).unwrap()),
            "blend of 5 + 5 from each of [1 rows as they lie; 2 rows as they lie]",
        ),
    ];
    for (order, want) in cases {
        assert_eq!(order.describe(), want);
    }
}
