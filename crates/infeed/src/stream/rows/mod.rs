//! Rows of JSON lines, CSV, text and TFRecord, read from front to back.
//!
//! ```text
//! one thread                          some threads            the caller of next()
//! bytes -> [compress] -> blocks  ->   fields of a block  ->   rows, in order
//! ```
//!
//! Decompression runs on one thread, which besides only finds the ends of rows. Parsing rows is shared among threads, a
//! block of about 1 MiB at a time.

mod blocks;
mod flow;
mod queue;

use super::{
    opening::Opening,
    parts::{Keep, Parts, Sequence},
};
use crate::{
    layout::rows::{FirstRows, LOOK, RowLayout, RowSchema, START},
    store::Pool,
};
use blocks::BlockCut;
use flow::RowFlow;
use infeed_core::{Error, Flow, Result, Spec, Store, Stream, format::Fields};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bytes of unused buffers that a stream keeps.
const KEPT: usize = 64 << 20;

/// Files and commands whose rows are read from front to back.
#[derive(Debug)]
pub struct RowStream {
    format: &'static str,
    schema: Arc<dyn RowSchema>,
    parts: Arc<Parts<BlockCut>>,
    spec: Spec,
}

impl RowStream {
    /// Opens parts and reads the first rows of the first part that has any, to learn the fields.
    pub(crate) fn open(
        store: Arc<dyn Store>,
        layout: Arc<dyn RowLayout>,
        paths: Vec<Opening>,
    ) -> Result<RowStream> {
        let cut = BlockCut {
            layout: Arc::clone(&layout),
            pool: Pool::new(KEPT),
            largest: AtomicU64::new(u64::MAX),
        };
        let parts = Parts::new(cut, store, paths)?;
        let mut first = None;
        for part in 0..parts.len() {
            let mut seen = FirstRows::default();
            let (most, mut bytes) = (layout.look().max(1), 0);
            parts.look(part, Keep::Data, |block| {
                seen.titles = block.titles();
                bytes += block.size();
                seen.rows.extend(block.rows(0).into_iter().take(most - seen.rows.len()));
                seen.rows.len() < most && bytes < LOOK
            })?;
            if !seen.rows.is_empty() {
                first = Some((part, seen));
                break;
            }
        }
        let Some((part, first)) = first else {
            return Err(Error::plan("read", format!("there are no rows in {} parts", parts.len())));
        };
        let sketch = layout.sketch(&first).map_err(|e| match e {
            Error::Sample { .. } => Error::plan("read", format!("shard `{}`: {e}", parts.name(part))),
            other => other,
        })?;
        let schema = layout.schema(sketch)?;
        let fields = schema.fields();
        Ok(RowStream { format: layout.name(), schema, parts: Arc::new(parts), spec: Spec { fields } })
    }
}

impl Stream for RowStream {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn fields_of_states(&self) -> Fields {
        let mut fields = self.spec.fields.clone();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        fields
    }

    fn parts(&self) -> u64 {
        self.parts.len() as u64
    }

    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>> {
        let sequence = Sequence::new(&self.parts, parts)?;
        Ok(Box::new(RowFlow::start(sequence, Arc::clone(&self.schema))?))
    }

    fn set_largest_row(&self, bytes: u64) {
        // While a long row is read it is in memory several times: in the growing buffer, in the one before, and as a record.
        self.parts.cut().largest.store(bytes / 4, Relaxed);
    }

    fn describe(&self) -> String {
        self.parts.describe(self.format)
    }
}

const _: () = assert!(START < LOOK);
