//! What chaos mode did.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of what was injected.
#[derive(Debug, Default)]
pub(crate) struct Chaos {
    pub(crate) delays: AtomicU64,
    pub(crate) faults: AtomicU64,
}

/// What chaos mode did to reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ChaosCounts {
    /// Rows that were read late.
    pub delays: u64,
    /// Reads of rows that failed and were tried again.
    pub faults: u64,
}

impl Chaos {
    pub(super) fn report(&self) -> ChaosCounts {
        ChaosCounts { delays: self.delays.load(Relaxed), faults: self.faults.load(Relaxed) }
    }
}
