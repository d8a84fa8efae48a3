//! Opens files of rows: at any place where they lie plain, from front to back where they are compressed.

use super::make::RowFormat;
use crate::{
    format::{paths::Inputs, source::open_shards, tar::IndexCache},
    layout::rows::RowLayout,
    stream::RowStream,
};
use infeed_core::{OpenRequest, Opened, Result};
use std::sync::Arc;

/// What the `open` of every entry of rows does.
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
