//! Rows that cannot be addressed.

use crate::{Record, Result, Spec};
use std::{fmt::Debug, sync::Arc};

/// Rows that only come one after the other: a pipe, a compressed tar, a generator.
pub trait Stream: Debug + Send + Sync {
    /// The fields of a record, as far as the beginning of the stream shows them.
    fn spec(&self) -> &Spec;

    /// How many parts (shards) it is read from, in which order they can be permuted; 1 when there is only one.
    fn parts(&self) -> u64;

    /// Starts from the first row, reading the parts in this order. The same parts give the same rows.
    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>>;

    /// Names of classes etc. are not known; what `explain()` says of it.
    fn describe(&self) -> String;
}

/// A stream in motion.
pub trait Flow: Send + Debug {
    /// The next row with these fields, or None at the end.
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<Passing>>;

    /// Steps over rows without making records of them; gives how many there were (fewer at the end).
    fn skip(&mut self, rows: u64) -> Result<u64> {
        for skipped in 0..rows {
            if self.next(&[])?.is_none() {
                return Ok(skipped);
            }
        }
        Ok(rows)
    }
}

/// One row of a stream.
#[derive(Debug, Clone)]
pub struct Passing {
    /// The part it came from.
    pub shard: Arc<str>,
    /// Its name.
    pub key: String,
    /// The fields that were asked for.
    pub record: Record,
}
