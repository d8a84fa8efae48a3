//! Rows by number.

use crate::{Record, Result, Spec};
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
    fn weight(&self, row: u64, fields: &[Arc<str>]) -> u64;

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

    /// How many rows there are.
    fn rows(&self) -> u64 {
        self.shard_rows().iter().sum()
    }

    /// What `explain()` says of the source.
    fn describe(&self) -> String;
}
