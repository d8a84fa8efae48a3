//! Opens files of rows: with random access if they are plain, as a stream if they are compressed.

use super::make::RowFormat;
use crate::{
    format::{paths::Inputs, saved::IndexCache, source::open_shards},
    layout::rows::RowLayout,
    stream::RowStream,
};
use infeed_core::{OpenRequest, Opened, Result};
use std::sync::Arc;

/// The `open` function of all row formats.
pub(in crate::format) fn open(
    request: &OpenRequest<'_>,
    layout: Arc<dyn RowLayout>,
    cache: IndexCache,
) -> Result<Opened> {
    match Inputs::find(request)? {
        Inputs::Stream(openings) => {
            let stream = RowStream::open(Arc::clone(request.store), layout, openings)?;
            Ok(Opened::Stream(Arc::new(stream)))
        }
        Inputs::Files(names) => open_shards(request, &RowFormat::new(layout, cache), &names),
    }
}
