//! Writes samples to shards that this loader, WebDataset and `tar` itself can read.
//!
//! [`TarWriter`] writes one tar; [`ShardWriter`] starts a new one whenever the last is full and ensures that a shard is
//! either complete or absent. Both write the same bytes for the same samples, on every machine and at any time, so that
//! shards can be compared by their checksums.

mod shards;
mod tar;

pub use shards::{ShardOptions, ShardWriter, Written};
pub use tar::TarWriter;

#[cfg(test)]
mod tests;
