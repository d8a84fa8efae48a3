//! Formats: how a shard is cut into rows.

use crate::{Error, FieldSpec, Record, Result, Shard, Shards, Store, Sums};
use bytes::Bytes;
use std::{fmt::Debug, ops::Range, sync::Arc};

/// A way of laying out rows in a shard.
pub trait Format: Debug + Send + Sync {
    /// Returns the name users know it by.
    fn name(&self) -> &'static str;

    /// Finds the rows of a shard. This is the only method that may read.
    fn index(&self, store: &dyn Store, shard: &Shard) -> Result<Arc<dyn Index>>;

    /// Finds the rows of many shards at once, `threads` shards at a time, for formats that have a better way than one
    /// index per shard. With `None` the caller indexes them one by one.
    fn indices(&self, _: &dyn Store, _: &Shards, _threads: usize) -> Result<Option<Arc<dyn Indices>>> {
        Ok(None)
    }
}

/// Fields of a shard by name.
pub type Fields = Vec<(Arc<str>, FieldSpec)>;

/// The rows of many shards. Each shard is lent out as an [`Index`], so that a hundred thousand of them can share a few
/// arrays.
pub trait Indices: Debug + Send + Sync {
    /// Returns the number of rows of each shard.
    fn rows(&self) -> &Sums<u64>;

    /// Calls `with` once with the index of a shard, if there is a shard of that number.
    fn lend(&self, shard: usize, with: &mut dyn FnMut(&dyn Index));

    /// Returns the distinct lists of fields, each with the first shard that has it. A list may occur more than once.
    fn fields(&self) -> Vec<(usize, Fields)>;

    /// Whether the order of the fields is that of the files. Otherwise fields are sorted by name.
    fn ordered(&self) -> bool {
        false
    }

    /// Returns descriptions of the skipped damage, each with its shard.
    fn damage(&self) -> Vec<(usize, String)>;

    /// Whether [`Index::fill`] of every shard can write this field.
    fn fills(&self, _field: &str) -> bool {
        false
    }
}

/// The rows of one shard. *Which bytes* ([`Index::ranges`]) is separate from *bytes to records* ([`Index::cut`]), so
/// that reads can be coalesced, prefetched and cached by code that does not know the format.
pub trait Index: Debug + Send + Sync {
    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns the fields of the shard; a row may lack some of them.
    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)>;

    /// Returns the name of a row.
    fn key(&self, row: u64) -> String;

    /// Returns the bytes to read for a row with these fields; the reader sizes its look-ahead with it.
    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64;

    /// Returns the byte ranges that hold the fields of these rows.
    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>>;

    /// Returns descriptions of the damage that a lenient pass skipped. Empty for an undamaged shard.
    fn damage(&self) -> &[String] {
        &[]
    }

    /// Turns the bytes of [`Index::ranges`] into records. A field that a row lacks is [`crate::Value::Missing`].
    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>>;

    /// Whether [`Index::fill`] can write this field.
    fn fills(&self, _field: &str) -> bool {
        false
    }

    /// Like [`Index::cut`], but writes directly into batches: `rows[i]` goes to place `places[i]` of each of `out`,
    /// which are parallel to `fields`.
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
