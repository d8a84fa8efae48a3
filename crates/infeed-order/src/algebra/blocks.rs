//! What is left of blocks when only some ranges of places are kept.

use std::ops::Range;

/// How many places each block keeps, without those that keep none. The ranges ascend and do not overlap.
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
