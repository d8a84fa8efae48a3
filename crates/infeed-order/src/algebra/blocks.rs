//! Clips block lengths to the ranges of places that are kept.

use std::ops::Range;

/// Returns how many places each block keeps, without blocks that keep none. The ranges must ascend and not overlap.
pub(super) fn clipped(blocks: &[u64], kept: &[Range<u64>]) -> Vec<u64> {
    let mut start = 0u64;
    let mut left = Vec::new();
    for &block in blocks {
        let end = start.saturating_add(block);
        let both = |range: &Range<u64>| range.end.min(end).saturating_sub(range.start.max(start));
        let count: u64 = kept.iter().map(both).sum();
        if count > 0 {
            left.push(count);
        }
        start = end;
    }
    left
}
