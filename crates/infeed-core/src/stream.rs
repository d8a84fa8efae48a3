//! Rows that cannot be addressed.

use crate::{Error, Record, Result, Spec};
use std::{fmt::Debug, sync::Arc};

/// Rows that only come one after the other: a pipe, a compressed tar, a generator.
pub trait Stream: Debug + Send + Sync {
    /// The fields of a record, as far as the beginning of the stream shows them.
    fn spec(&self) -> &Spec;

    /// How many parts (shards) it is read from, in which order they can be permuted; 1 when there is only one.
    fn parts(&self) -> u64;

    /// Starts from the first row, reading the parts in this order. The same parts give the same rows.
    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>>;

    /// Starts as close before a row of an epoch as it can, and says how many rows lie before what comes out first. Streams
    /// that can only start at the front, the same in every epoch, leave this as it is.
    fn begin(&self, at: &Begin<'_>) -> Result<(Box<dyn Flow>, u64)> {
        Ok((self.start(at.parts)?, 0))
    }

    /// What [`Stream::begin`] needs to start at this row without going through those before it: goes into checkpoints.
    fn mark(&self, _epoch: u64, _row: u64) -> Option<String> {
        None
    }

    /// What a checkpoint must agree with, beside fields and parts.
    fn identity(&self) -> String {
        String::new()
    }

    /// Names of classes etc. are not known; what `explain()` says of it.
    fn describe(&self) -> String;
}

/// Where and how a stream begins.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// The order of the parts.
    pub parts: &'a [u64],
    /// The epoch.
    pub epoch: u64,
    /// Rows of the epoch that are not wanted any more.
    pub row: u64,
    /// What [`Stream::mark`] said of some row, in this process or another one.
    pub mark: Option<&'a str>,
    /// Threads it may use.
    pub threads: usize,
    /// Whether bad rows are left out, and told by [`Flow::bad`], or are errors.
    pub lenient: bool,
}

/// A stream in motion.
pub trait Flow: Send + Debug {
    /// The next row with these fields, or None at the end.
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>>;

    /// Steps over rows without making records of them; gives how many there were (fewer at the end).
    fn skip(&mut self, rows: u64) -> Result<u64> {
        for skipped in 0..rows {
            if self.next(&[])?.is_none() {
                return Ok(skipped);
            }
        }
        Ok(rows)
    }

    /// Rows that were left out since the last call, by their number among those the stream reads, with the reason.
    fn bad(&mut self) -> Vec<(u64, Error)> {
        Vec::new()
    }
}

/// One row of a stream.
#[derive(Debug, Clone)]
pub struct StreamRow {
    /// The part it came from.
    pub shard: Arc<str>,
    /// Its name.
    pub key: String,
    /// The fields that were asked for, or what is wrong with this row: the next one may be sound.
    pub record: Result<Record>,
}
