//! What caches of samples did for a loader.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one tier.
#[derive(Debug, Default)]
pub(crate) struct SampleCounts {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
}

/// What the cache of samples in memory, or on disk, did for a loader, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheUse {
    /// `memory` or `disk`.
    pub tier: &'static str,
    /// Samples that were there when they were read.
    pub hits: u64,
    /// Samples that had to be made.
    pub misses: u64,
    /// Samples that it holds, of all processes.
    pub samples: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The most bytes that it may hold.
    pub limit: u64,
    /// Samples with wrong bytes, which were made again.
    pub damaged: u64,
    /// Why nothing is kept any more, if so.
    pub warning: Option<String>,
}

impl CacheUse {
    pub(crate) fn new(tier: &'static str, counted: &SampleCounts) -> CacheUse {
        let (hits, misses) = (counted.hits.load(Relaxed), counted.misses.load(Relaxed));
        CacheUse { tier, hits, misses, samples: 0, bytes: 0, limit: 0, damaged: 0, warning: None }
    }
}
