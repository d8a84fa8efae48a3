//! A bad sample is data, not a crash.

use infeed_core::{Error, Hold, Result};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// What to do with a sample that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Stop with the error.
    Raise,
    /// Leave it out: its batch is shorter.
    Skip,
    /// Put another row in its place, chosen by the seed: the batch keeps its size.
    Replace,
}

impl OnError {
    /// From its name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "raise" => Ok(OnError::Raise),
            "skip" => Ok(OnError::Skip),
            "replace" => Ok(OnError::Replace),
            other => Err(Error::argument(format!(
                "on_error must be \"raise\", \"skip\" or \"replace\", got \"{other}\""
            ))),
        }
    }
}

/// One bad sample, as `stats()` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadSample {
    /// Epoch in which it came up.
    pub epoch: u64,
    /// Its row.
    pub row: u64,
    /// Where and why.
    pub error: String,
}

/// How many bad samples are kept word for word; all are counted.
const KEPT: usize = 100;

/// Counts and keeps bad samples.
#[derive(Debug, Default)]
pub(crate) struct Bad {
    inner: Mutex<(u64, Vec<BadSample>)>,
}

impl Bad {
    /// Records one. An error when there are more than `limit`.
    pub(super) fn record(&self, epoch: u64, row: u64, error: &Error, limit: u64) -> Result<()> {
        let mut inner = self.inner.hold();
        inner.0 += 1;
        if inner.1.len() < KEPT {
            inner.1.push(BadSample { epoch, row, error: error.to_string() });
        }
        if inner.0 > limit {
            return Err(Error::TooManyBad { count: inner.0, limit, last: error.to_string() });
        }
        Ok(())
    }

    /// How many, and the first of them sorted by epoch and row.
    pub(crate) fn report(&self) -> (u64, Vec<BadSample>) {
        let inner = self.inner.hold();
        let mut kept = inner.1.clone();
        kept.sort_by_key(|b| (b.epoch, b.row));
        (inner.0, kept)
    }
}
