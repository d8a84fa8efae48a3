//! Shuffles that preserve some locality: blocks, the span of a buffer, rows of similar length.

mod block;
mod buffer;
mod by_length;
mod mixer;
#[cfg(test)]
mod tests;

pub use block::BlockShuffle;
pub use buffer::Buffer;
pub use by_length::{ByLength, padding_waste};
pub use mixer::Mixer;

use infeed_core::Rng;

/// Fisher-Yates shuffle of a slice.
pub(crate) fn shuffle<T>(things: &mut [T], rng: &mut Rng) {
    for i in (1..things.len()).rev() {
        things.swap(i, rng.below(i as u64 + 1) as usize);
    }
}
