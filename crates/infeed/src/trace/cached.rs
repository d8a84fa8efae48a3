//! Where bytes came from, epoch by epoch.

use infeed_core::{CacheCounts, Hold};
use serde::Serialize;
use std::{collections::VecDeque, sync::Mutex};

/// Epochs that are remembered.
const KEPT: usize = 100;

/// The bytes of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EpochBytes {
    /// The epoch.
    pub epoch: u64,
    /// Bytes that came from the cache while it ran.
    pub cache_bytes: u64,
    /// Bytes that came from the store while it ran; the first of the next epoch are among them.
    pub store_bytes: u64,
}

/// What caches have done for a loader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cached {
    /// The share of the bytes that came from the cache.
    pub hit_share: f64,
    /// All counts, since the data was opened.
    #[serde(flatten)]
    pub counts: CacheCounts,
    /// The last epochs that are over.
    pub epochs: Vec<EpochBytes>,
}

/// Notes what caches had done at the end of each epoch.
#[derive(Debug, Default)]
pub(crate) struct CacheTrace {
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    before: Option<CacheCounts>,
    epochs: VecDeque<EpochBytes>,
}

impl CacheTrace {
    /// An epoch begins. What was read before the first one belongs to none.
    pub(crate) fn begin(&self, counts: CacheCounts) {
        self.noted.hold().before.get_or_insert(counts);
    }

    /// An epoch has ended.
    pub(crate) fn end(&self, epoch: u64, counts: CacheCounts) {
        let mut noted = self.noted.hold();
        let of = counts.since(noted.before.replace(counts).unwrap_or_default());
        if noted.epochs.len() == KEPT {
            noted.epochs.pop_front();
        }
        let (cache_bytes, store_bytes) = (of.cache_bytes, of.store_bytes);
        noted.epochs.push_back(EpochBytes { epoch, cache_bytes, store_bytes });
    }

    /// What is known so far.
    pub(crate) fn report(&self, counts: CacheCounts) -> Cached {
        let all = counts.cache_bytes + counts.store_bytes;
        let hit_share = if all > 0 { counts.cache_bytes as f64 / all as f64 } else { 0.0 };
        Cached { hit_share, counts, epochs: self.noted.hold().epochs.iter().copied().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_belong_to_the_epoch_in_which_they_came() {
        let counts =
            |cache_bytes, store_bytes| CacheCounts { cache_bytes, store_bytes, ..CacheCounts::default() };
        let trace = CacheTrace::default();
        trace.begin(counts(0, 5));
        trace.end(0, counts(10, 105));
        trace.begin(counts(10, 105));
        trace.end(1, counts(110, 105));
        let report = trace.report(counts(110, 105));
        let of = |e: &EpochBytes| (e.epoch, e.cache_bytes, e.store_bytes);
        assert_eq!(report.epochs.iter().map(of).collect::<Vec<_>>(), [(0, 10, 100), (1, 100, 0)]);
        assert!((report.hit_share - 110.0 / 215.0).abs() < 1e-9);
    }
}
