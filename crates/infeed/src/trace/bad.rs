//! Bad samples: all are counted, the first are kept.

use infeed_core::{Error, Hold, Result};
use serde::Serialize;
use std::sync::Mutex;

/// One bad sample, as `stats()` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadSample {
    /// The epoch in which it occurred.
    pub epoch: u64,
    /// Its row.
    pub row: u64,
    /// Where and why.
    pub error: String,
}

/// How many bad samples are kept in full; all are counted.
const KEPT: usize = 100;

/// Counts bad samples and keeps the first.
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
    /// Records one. Fails if there are more than `limit`.
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

    /// Returns how many there are, and the first of them sorted by epoch and row.
    pub(crate) fn report(&self) -> (u64, Vec<BadSample>) {
        let counted = self.counted.hold();
        let mut kept = counted.first.clone();
        kept.sort_by_key(|b| (b.epoch, b.row));
        (counted.all, kept)
    }
}
