//! Indices saved between runs. The indices of many shards are saved together ([`sets`]).

pub(in crate::format) mod codec;
mod pieces;
mod set;
mod sets;

use super::{TarIndex, check};
use crate::format::saved::{self, IndexCache, Place, SavedFile, is_far};
use infeed_core::{Index, Result, Shard, Store};

/// The suffix of saved indices.
const SUFFIX: &str = "infeed-index";

/// Loads a saved index that matches the shard, from this machine or from beside the shard.
pub(super) fn load(cache: &IndexCache, store: &dyn Store, shard: &Shard) -> Option<TarIndex> {
    cache.load(store, shard, SUFFIX, |file| read(store, shard, file))
}

/// Loads a saved index that matches the shard, from this machine.
pub(super) fn load_here(cache: &IndexCache, store: &dyn Store, shard: &Shard) -> Option<TarIndex> {
    cache.load_here(store, shard, SUFFIX, |file| read(store, shard, file))
}

/// Returns the indices beside these shards of a remote store, as far as there are any.
pub(super) fn sidecars(cache: &IndexCache, store: &dyn Store, shards: &[Shard]) -> Vec<Option<Shard>> {
    cache.sidecars(store, shards, SUFFIX)
}

/// Loads the index beside a shard of a remote store.
pub(super) fn load_sidecar(store: &dyn Store, shard: &Shard, sidecar: &Shard) -> Option<TarIndex> {
    saved::load_sidecar(store, sidecar, |file| read(store, shard, file))
}

fn read(store: &dyn Store, shard: &Shard, file: &SavedFile) -> Option<TarIndex> {
    if let Some(index) = codec::decode(&file.bytes, shard) {
        return (!file.older || check::fits(store, shard, &index.view())).then_some(index);
    }
    // Made for a shard of the same size and another tag: the same one, if its headers are where the index says.
    let index = file.copied.then(|| codec::decode(&file.bytes, &codec::claimed(&file.bytes, shard)?))??;
    check::fits(store, shard, &index.view()).then_some(index)
}

/// Returns the number of rows of an index that is where this one would be saved, and was made for this very shard.
pub(super) fn rows_there(
    cache: &IndexCache,
    store: &dyn Store,
    shard: &Shard,
    sidecar: Option<&Shard>,
) -> Option<u64> {
    let exact = |file: &SavedFile| {
        let index = codec::decode(&file.bytes, shard)?;
        (!file.older || check::fits(store, shard, &index.view())).then(|| index.rows())
    };
    match cache.place(store, shard, SUFFIX)? {
        Place::File(path) => exact(&SavedFile::open(&path, shard, is_far(store, &shard.name))?),
        Place::Object(_) => saved::load_sidecar(store, sidecar?, exact),
    }
}

/// Whether there is a place for the index of a shard.
pub(super) fn has_place(cache: &IndexCache, store: &dyn Store, shard: &Shard) -> bool {
    cache.place(store, shard, SUFFIX).is_some()
}

/// Saves an index for the next run, if wanted and possible.
pub(super) fn save(cache: &IndexCache, store: &dyn Store, shard: &Shard, index: &TarIndex) {
    // A folder that cannot be written is no error: the next run finds the rows again.
    let _ = try_save(cache, store, shard, index);
}

/// Saves an index. Faults of a tar must be reported in every run, so the index of a damaged tar is not saved.
pub(super) fn try_save(cache: &IndexCache, store: &dyn Store, shard: &Shard, index: &TarIndex) -> Result<()> {
    match codec::encode(index, shard).filter(|_| index.damage().is_empty()) {
        Some(bytes) => cache.try_save(store, shard, SUFFIX, &bytes),
        None => Ok(()),
    }
}
