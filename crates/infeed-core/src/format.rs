//! How a shard is cut into rows.

use crate::{Error, FieldSpec, Record, Result, Shard, Shards, Store, Sums};
use bytes::Bytes;
use std::{fmt::Debug, ops::Range, sync::Arc};

/// A way of laying out rows in a shard.
pub trait Format: Debug + Send + Sync {
    /// The name users know it by.
    fn name(&self) -> &'static str;

    /// Finds the rows of a shard. This is the only call that may read.
    fn index(&self, store: &dyn Store, shard: &Shard) -> Result<Arc<dyn Index>>;

    /// Finds the rows of many shards at once, `threads` shards at a time, for formats that have a better way than one
    /// index for each. Nothing means that the caller asks for them one by one.
    fn indices(&self, _: &dyn Store, _: &Shards, _threads: usize) -> Result<Option<Arc<dyn Indices>>> {
        Ok(None)
    }
}

/// Fields by name, as a shard has them.
pub type Fields = Vec<(Arc<str>, FieldSpec)>;

/// The rows of many shards. Shards are lent out as an [`Index`] one at a time, so that a hundred thousand of them can
/// share a few arrays.
pub trait Indices: Debug + Send + Sync {
    /// How many rows each shard has.
    fn rows(&self) -> &Sums<u64>;

    /// Calls `with` once with the index of a shard, if there is a shard of that number.
    fn lend(&self, shard: usize, with: &mut dyn FnMut(&dyn Index));

    /// The lists of fields that occur, each with the first shard that has it. A list may come more than once.
    fn fields(&self) -> Vec<(usize, Fields)>;

    /// What was stepped over, with the shard it lies in.
    fn damage(&self) -> Vec<(usize, String)>;

    /// Whether [`Index::fill`] of every shard can write this field.
    fn fills(&self, _field: &str) -> bool {
        false
    }
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
    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64;

    /// The byte ranges that hold the fields of these rows.
    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>>;

    /// What a lenient pass stepped over, in words. Empty for a sound shard.
    fn damage(&self) -> &[String] {
        &[]
    }

    /// Makes records of the bytes of [`Index::ranges`]. A field that a row does not have is [`crate::Value::Missing`].
    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>>;

    /// Whether [`Index::fill`] can write this field.
    fn fills(&self, _field: &str) -> bool {
        false
    }

    /// As [`Index::cut`], but straight to where batches have the rows: that of `rows[i]` goes to place `places[i]` of each
    /// of `out`, which are parallel to `fields`.
    fn fill(
        &self,
        _rows: &[u64],
        _places: &[usize],
        _fields: &[Arc<str>],
        _bytes: Vec<Bytes>,
        _out: &mut [&mut [u8]],
    ) -> Result<()> {
        Err(Error::Internal { what: "this format cannot fill batches".to_owned() })
    }
}
