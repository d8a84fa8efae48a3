//! Rows by number.

use crate::{Error, Record, Result, Spec};
use std::{fmt::Debug, sync::Arc};

/// Everything that can be read by row number: store x format, a folder, a wrapped data set.
pub trait Source: Debug + Send + Sync {
    /// The fields of a record.
    fn spec(&self) -> &Spec;

    /// Rows in each shard; their sum is the length. Rows are numbered shard after shard.
    fn shard_rows(&self) -> &[u64];

    /// The shard that holds a row.
    fn shard_of(&self, row: u64) -> String;

    /// The name of a row.
    fn key(&self, row: u64) -> String;

    /// About how many bytes reading a row moves.
    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64;

    /// The records of these rows, in the same order, with these fields. Sorted rows let neighbours be read together.
    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>>;

    /// Says that these rows will be fetched soon. A hint: doing nothing is right.
    fn will_fetch(&self, _rows: &[u64], _fields: &[Arc<str>]) {}

    /// Names of the classes that a `label` field numbers, where the source has them.
    fn classes(&self) -> &[String] {
        &[]
    }

    /// What was left out of damaged shards when they were opened, in words.
    fn damage(&self) -> Vec<String> {
        Vec::new()
    }

    /// A number that is known of every row without reading it: `bytes`, and `label` where there are classes. `None` when
    /// the source does not know it.
    fn column(&self, _name: &str) -> Result<Option<Vec<i64>>> {
        Ok(None)
    }

    /// Rows of the units that are read and decoded as a whole (row groups), where these are larger than a row; their sum is
    /// the length. A shuffle then mixes some units at a time, so that each is decoded once. Empty when rows are read one by
    /// one.
    fn block_rows(&self) -> &[u64] {
        &[]
    }

    /// Whether [`Source::fill`] can write this field. Its spec must have a fixed shape.
    fn fills(&self, _field: &str) -> bool {
        false
    }

    /// Writes fields of many rows straight to where batches have them, without a record in between: `out[i]` is for
    /// `fields[i]` and has the rows one after the other, in the order of `rows`, without gaps. Rows come in any order, and
    /// more than once. After an error `out` may hold anything: whoever called then goes row by row with [`Source::fetch`],
    /// which must fail for the same rows and say why.
    fn fill(&self, _rows: &[u64], _fields: &[Arc<str>], _out: &mut [&mut [u8]]) -> Result<()> {
        Err(Error::Internal { what: "this source cannot fill batches".to_owned() })
    }

    /// How much memory the source may use for what it keeps between calls. A hint.
    fn set_memory(&self, _bytes: u64) {}

    /// How many rows there are.
    fn rows(&self) -> u64 {
        self.shard_rows().iter().sum()
    }

    /// What `explain()` says of the source.
    fn describe(&self) -> String;
}
