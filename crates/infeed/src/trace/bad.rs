//! A bad sample is data, not a crash: all are counted, the first are kept.

use infeed_core::{Error, Hold, Result};
use serde::Serialize;
use std::sync::Mutex;

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
pub(crate) struct BadSamples {
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    all: u64,
    first: Vec<BadSample>,
}

impl BadSamples {
    /// Records one. An error when there are more than `limit`.
    pub(crate) fn record(&self, epoch: u64, row: u64, error: &Error, limit: u64) -> Result<()> {
        let mut counted = self.counted.hold();
        counted.all += 1;
        if counted.first.len() < KEPT {
            counted.first.push(BadSample { epoch, row, error: error.to_string() });
        }
        if counted.all > limit {
            return Err(Error::TooManyBad { count: counted.all, limit, last: error.to_string() });
        }
        Ok(())
    }

    /// How many, and the first of them sorted by epoch and row.
    pub(crate) fn report(&self) -> (u64, Vec<BadSample>) {
        let counted = self.counted.hold();
        let mut kept = counted.first.clone();
        kept.sort_by_key(|b| (b.epoch, b.row));
        (counted.all, kept)
    }
}
