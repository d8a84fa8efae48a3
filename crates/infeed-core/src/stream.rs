//! Streams: rows that cannot be looked up by number.

use crate::{Error, Record, Result, Spec, format::Fields};
use std::{fmt::Debug, sync::Arc};

/// Rows that come one after the other: a pipe, a compressed tar, a generator.
pub trait Stream: Debug + Send + Sync {
    /// Returns the fields of a record, as far as the start of the stream shows them.
    fn spec(&self) -> &Spec;

    /// Returns the number of parts (shards), whose order can be permuted.
    fn parts(&self) -> u64;

    /// Starts from the first row, reading the parts in this order. The same parts give the same rows.
    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>>;

    /// Starts as close before a row of an epoch as possible, and returns how many rows precede the first one it
    /// gives. The default is for streams that can only start at the front and are the same in every epoch.
    fn begin(&self, at: &Begin<'_>) -> Result<(Box<dyn Flow>, u64)> {
        Ok((self.start(at.parts)?, 0))
    }

    /// Completes a row before it is handed out: reads what its flow left for later, because most ranks do not need it and a
    /// shuffle buffer should not hold it. `fields` are those that the flow was asked for.
    fn finish(&self, _row: &mut StreamRow, _fields: &[Arc<str>]) {}

    /// Returns what [`Stream::begin`] needs to start at this row without reading those before it; kept in checkpoints.
    fn mark(&self, _epoch: u64, _row: u64) -> Option<String> {
        None
    }

    /// Returns the fields in the order that identifies the data in saved states, as in
    /// [`Source::fields_of_states`](crate::Source::fields_of_states).
    fn fields_of_states(&self) -> Fields {
        self.spec().fields.clone()
    }

    /// Returns what a checkpoint must agree with, besides fields and parts.
    fn identity(&self) -> String {
        String::new()
    }

    /// Whether rows come from code of the user, which must not run on after the loader is closed.
    fn runs_user_code(&self) -> bool {
        false
    }

    /// Limits the bytes of one row, from the next flow on. Longer rows are errors.
    fn set_largest_row(&self, _bytes: u64) {}

    /// Describes the stream for `explain()`.
    fn describe(&self) -> String;
}

/// Where and how a stream starts.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// The order of the parts.
    pub parts: &'a [u64],
    /// The epoch.
    pub epoch: u64,
    /// Rows of the epoch to skip.
    pub row: u64,
    /// A result of [`Stream::mark`], from this process or another one.
    pub mark: Option<&'a str>,
    /// Threads it may use.
    pub threads: usize,
    /// Whether bad rows are skipped and reported by [`Flow::bad`], or are errors.
    pub lenient: bool,
}

/// A running stream.
pub trait Flow: Send + Debug {
    /// Returns the next row with these fields, or `None` at the end.
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>>;

    /// Skips rows without making records. Returns how many there were (fewer at the end).
    fn skip(&mut self, rows: u64) -> Result<u64> {
        for skipped in 0..rows {
            if self.next(&[])?.is_none() {
                return Ok(skipped);
            }
        }
        Ok(rows)
    }

    /// Returns the rows that were left out since the last call, by their number in the stream, with the reason.
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
    /// The requested fields, or the error of this row; the next row may be good.
    pub record: Result<Record>,
}
