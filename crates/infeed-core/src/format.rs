//! How a shard is cut into rows.

use crate::{FieldSpec, Record, Result, Shard, Store};
use bytes::Bytes;
use std::{fmt::Debug, ops::Range, sync::Arc};

/// A way of laying out rows in a shard.
pub trait Format: Debug + Send + Sync {
    /// The name users know it by.
    fn name(&self) -> &'static str;

    /// Finds the rows of a shard. This is the only call that may read.
    fn index(&self, store: &dyn Store, shard: &Shard) -> Result<Arc<dyn Index>>;
}

/// The rows of one shard. *Which bytes* ([`Index::ranges`]) is apart from *bytes to records* ([`Index::cut`]), so
/// that reading can be coalesced, prefetched and cached by somebody who knows nothing of the format.
pub trait Index: Debug + Send + Sync {
    /// How many rows there are.
    fn rows(&self) -> u64;

    /// The fields any row of the shard has.
    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)>;

    /// The name of a row.
    fn key(&self, row: u64) -> String;

    /// Bytes to read for a row with these fields; the reader sizes its look-ahead with it.
    fn weight(&self, row: u64, fields: &[Arc<str>]) -> u64;

    /// The byte ranges that hold the fields of these rows.
    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>>;

    /// What a lenient pass stepped over, in words. Empty for a sound shard.
    fn damage(&self) -> &[String] {
        &[]
    }

    /// Makes records of the bytes of [`Index::ranges`]. A field that a row does not have is [`crate::Value::Missing`].
    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>>;
}
