//! Blocks of rows for stores that are far away: one request brings many rows.

use infeed_core::{Result, Shards, Sums};
use std::ops::Range;

/// Bytes of a block: what one request brings. 64 such requests of 30 ms at a time bring 4 GB/s, and a shuffle has 64 blocks open:
/// larger ones would only take more memory.
const BLOCK: u64 = 2 << 20;

/// The shards cut into blocks of about [`BLOCK`] bytes. It depends on sizes and numbers of rows alone, as every order must.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    rows: Sums<u64>,
    /// The rows of a block, in each shard.
    each: Vec<u64>,
}

impl Blocks {
    pub(super) fn new(shards: &Shards, rows: &Sums<u64>) -> Result<Self> {
        let mut blocks = Blocks::default();
        for (size, count) in shards.sizes().iter().zip(rows.lens()) {
            // In u128: rows times bytes of a large shard are more than fit.
            let each = u128::from(*count) * u128::from(BLOCK) / u128::from((*size).max(1));
            let each = u64::try_from(each).unwrap_or(u64::MAX).clamp(1, (*count).max(1));
            let mut left = *count;
            while left > 0 {
                let block = left.min(each);
                blocks.rows.push(block);
                left -= block;
            }
            blocks.each.push(each);
        }
        Ok(blocks)
    }

    pub(super) fn rows(&self) -> &[u64] {
        self.rows.lens()
    }

    /// Returns the blocks of these rows, each once: its shard, and its rows in the shard.
    pub(super) fn of(&self, rows: &[u64], shards: &Sums<u64>) -> Vec<(usize, Range<u64>)> {
        let mut blocks: Vec<(usize, u64)> = (rows.iter())
            .filter_map(|row| {
                let (shard, row) = shards.find(*row)?;
                Some((shard, row / self.each.get(shard)?))
            })
            .collect();
        // In the order of need: the first row of a block says when it is needed.
        let mut seen = std::collections::HashSet::new();
        blocks.retain(|block| seen.insert(*block));
        let range = |(shard, block): (usize, u64)| {
            let (each, count) = (self.each[shard], shards.lens()[shard]);
            (shard, block * each..count.min((block + 1) * each))
        };
        blocks.into_iter().map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_core::Shard;

    #[test]
    fn blocks_are_the_rows_of_a_request() {
        let shard = |name: &str, size| Shard { name: name.into(), size, modified: None, version: None };
        let shards = Shards::new(&[shard("a", 5 << 20), shard("b", 0), shard("c", 100)]).unwrap();
        let mut rows = Sums::default();
        [100u64, 0, 3].into_iter().for_each(|count| rows.push(count));
        let blocks = Blocks::new(&shards, &rows).unwrap();
        assert_eq!(blocks.rows(), [40, 40, 20, 3]);
        assert_eq!(
            blocks.of(&[99, 45, 0, 79, 101], &rows),
            [(0, 80..100), (0, 40..80), (0, 0..40), (2, 0..3)]
        );
    }
}
