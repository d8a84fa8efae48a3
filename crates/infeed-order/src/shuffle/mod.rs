//! Shuffles that preserve some locality: blocks, the span of a buffer, rows of similar length.

mod block;
mod buffer;
mod by_length;
mod mixer;
mod sliding;
#[cfg(test)]
mod tests;

pub use block::BlockShuffle;
pub use buffer::Buffer;
pub use by_length::{ByLength, padding_waste};
pub use mixer::Mixer;
pub use sliding::SlidingShuffle;

use crate::Below;
use infeed_core::{Error, Order, Result, Rng};

/// Fisher-Yates shuffle of a slice.
pub(crate) fn shuffle<T>(things: &mut [T], rng: &mut Rng) {
    for i in (1..things.len()).rev() {
        things.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// Where the blocks of an order begin, followed by the end of the last one. Empty ones are left out, and with `cut` they are
/// split into pieces of at most that many rows.
fn block_starts(below: &Below, kind: &str, window: u64, cut: Option<u64>) -> Result<Vec<u64>> {
    if window == 0 {
        return Err(Error::plan("shuffle", "a window of 0 blocks holds no rows; take at least 1"));
    }
    if cut == Some(0) {
        return Err(Error::plan("shuffle", "blocks cannot be cut into 0 rows; take at least 1, or no cut"));
    }
    let blocks = below.blocks().ok_or_else(|| {
        let what = format!(
            "kind=\"{kind}\" needs rows in the order of storage, but it follows a shuffle or a random selection; \
             shuffle before that, or use kind=\"global\""
        );
        Error::plan("shuffle", what)
    })?;
    let cut_rows = cut.unwrap_or(u64::MAX);
    let count = blocks.iter().fold(0u64, |sum, rows| sum.saturating_add(rows.div_ceil(cut_rows)));
    if count >= u64::from(u32::MAX) {
        return Err(Error::plan("shuffle", format!("{count} blocks are too many; use a larger cut")));
    }
    let mut starts = Vec::with_capacity(count as usize + 1);
    let mut at = 0;
    starts.push(0);
    for mut rows in blocks {
        while rows > 0 {
            let piece = rows.min(cut_rows);
            at += piece;
            rows -= piece;
            starts.push(at);
        }
    }
    Ok(starts)
}
