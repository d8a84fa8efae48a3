//! What the caches of a plan's sources have done.

use super::Plan;
use crate::trace::{Stats, Trace};
use infeed_core::CacheCounts;

impl Plan {
    /// All of it together; `None` without a cache.
    pub(in crate::engine) fn cache_counts(&self) -> Option<CacheCounts> {
        self.source.caches().into_iter().map(|cache| cache.counts()).reduce(CacheCounts::plus)
    }

    /// Adds what sources and caches know to the statistics of a loader.
    pub(in crate::engine) fn add_to(&self, stats: Stats, trace: &Trace) -> Stats {
        stats
            .on_network(self.source.network())
            .with_cache(trace, self.cache_counts())
            .with_sample_caches(self.cache_uses(trace))
    }

    /// Notes that an epoch begins.
    pub(in crate::engine) fn epoch_begins(&self, trace: &Trace) {
        if let Some(counts) = self.cache_counts() {
            trace.cached.begin(counts);
        }
    }

    /// Notes that an epoch has ended.
    pub(in crate::engine) fn epoch_ended(&self, epoch: u64, trace: &Trace) {
        if let Some(counts) = self.cache_counts() {
            trace.cached.end(epoch, counts);
        }
    }
}
