//! Checks that every order must pass, for the tests.

use infeed_core::{Order, OrderExt, rng::Rng};

/// Checks an epoch against its expected rows: all at once, in batches, and in any order. Also
/// checks that blocks add up.
pub(super) fn holds(order: &dyn Order, epoch: u64, expected: &[u64]) {
    let n = expected.len() as u64;
    assert_eq!(order.places(), n, "{}", order.describe());
    assert_eq!(order.rows(epoch, 0..n + 9), expected, "{}", order.describe());
    if let Some(blocks) = order.blocks() {
        assert_eq!(blocks.iter().sum::<u64>(), n, "blocks {blocks:?} of {}", order.describe());
    }
    let mut beyond = [n, n + 1, 1 << 40];
    order.resolve(epoch, &mut beyond);
    if n == 0 {
        return;
    }
    let mut rng = Rng::at(n, epoch, 0, 0);
    for size in [1, 2, 7, 40, 300] {
        // Random places, with repetitions.
        compare(order, epoch, expected, (0..size).map(|_| rng.below(n)).collect());
        // Consecutive places from a random start, forwards and backwards.
        let start = rng.below(n);
        let run: Vec<u64> = (start..n.min(start + size)).collect();
        compare(order, epoch, expected, run.iter().rev().copied().collect());
        compare(order, epoch, expected, run);
        // With gaps.
        compare(order, epoch, expected, (0..n).step_by(size as usize).collect());
    }
}

fn compare(order: &dyn Order, epoch: u64, expected: &[u64], places: Vec<u64>) {
    let mut rows = places.clone();
    order.resolve(epoch, &mut rows);
    let wanted: Vec<u64> = places.iter().map(|place| expected[*place as usize]).collect();
    assert_eq!(rows, wanted, "places {places:?} of {}", order.describe());
}
