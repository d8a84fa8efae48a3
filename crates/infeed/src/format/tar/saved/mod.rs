//! Indices saved between runs. The indices of many shards are saved together ([`sets`]).

pub(in crate::format) mod codec;
mod pieces;
mod set;
mod sets;

use super::{TarIndex, check};
use crate::format::saved::IndexCache;
use infeed_core::{Index, Shard, Store};

/// The suffix of saved indices.
const SUFFIX: &str = "infeed-index";

/// Loads a saved index that matches the shard.
pub(super) fn load(cache: &IndexCache, store: &dyn Store, shard: &Shard) -> Option<TarIndex> {
    cache.load(store, shard, SUFFIX, |file| {
        let claimed =
            || file.copied.then(|| codec::decode(&file.bytes, &codec::claimed(&file.bytes, shard)?))?;
        let index = codec::decode(&file.bytes, shard).or_else(claimed)?;
        (!file.older || check::fits(store, shard, &index.view())).then_some(index)
    })
}

/// Saves an index for the next run, if wanted and possible.
pub(super) fn save(cache: &IndexCache, store: &dyn Store, shard: &Shard, index: &TarIndex) {
    // Faults of a tar must be reported in every run, so the index of a damaged tar is not saved.
    if !index.damage().is_empty() {
        return;
    }
    if let Some(bytes) = codec::encode(index, shard) {
        cache.save(store, shard, SUFFIX, &bytes);
    }
}
