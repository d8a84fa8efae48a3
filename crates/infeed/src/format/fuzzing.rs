//! Arbitrary bytes through the parsers of saved indices.

use super::{rows, tar};
use infeed_core::Shard;

/// Parses bytes as saved indices of a shard that they would belong to. Headers and checksums are made to match: otherwise
/// nothing would ever get past them.
#[doc(hidden)]
pub fn fuzz_index(data: &[u8]) {
    let shard = Shard { name: "x.tar".into(), size: 1 << 20, modified: Some(1), version: None };
    tar::fuzz_saved(data, &shard);
    rows::fuzz_saved(data, &shard);
}
