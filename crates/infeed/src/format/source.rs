//! Turns shards of a format into a source of rows.

use crate::read::StoreSource;
use infeed_core::{Error, Format, Index, OpenRequest, Opened, Result, Shard, Shards, Store, parallel};
use std::sync::Arc;

/// Finds the rows of many shards, `threads` shards at a time. Of several bad shards the first is reported.
pub fn index_all(
    format: &dyn Format,
    store: &dyn Store,
    shards: &[Shard],
    threads: usize,
) -> Result<Vec<Arc<dyn Index>>> {
    parallel::map(shards.len(), threads, |at| format.index(store, &shards[at]))
}

/// Opens these shards as one source.
pub(super) fn open_shards(
    request: &OpenRequest<'_>,
    format: &dyn Format,
    names: &[String],
) -> Result<Opened> {
    if names.is_empty() {
        return Err(Error::NotFound { path: request.paths.join(", "), hint: String::new() });
    }
    let store = request.store;
    let shards = Shards::new(&store.stat(names)?)?;
    let source = match format.indices(&**store, &shards, request.threads)? {
        Some(indices) => StoreSource::over(Arc::clone(store), request.entry.name, shards, indices)?,
        None => {
            let shards: Vec<Shard> = (0..shards.len()).filter_map(|place| shards.get(place)).collect();
            let indices = index_all(format, &**store, &shards, request.threads)?;
            StoreSource::new(Arc::clone(store), request.entry.name, shards, indices)?
        }
    };
    Ok(Opened::Rows(Arc::new(source)))
}
