//! What a shelf says of itself.

use super::{super::stats::ShelfStats, Shelf};
use infeed_core::memory::readable;
use std::{fmt, sync::PoisonError};

impl Shelf {
    /// What it has done for this process so far, and what it holds.
    pub fn stats(&self) -> ShelfStats {
        // Not waited for: statistics must not stand behind a disk that is slow.
        let used = self.state.as_ref().and_then(|state| state.try_lock().ok()).map(|state| state.used());
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        let bytes = places.values().map(|place| place.len).sum();
        self.counters.stats(places.len() as u64, bytes, used.unwrap_or(bytes), self.limit)
    }

    /// Whether it is in memory.
    pub fn in_memory(&self) -> bool {
        self.options.in_memory()
    }

    /// The average bytes of a sample; 0 while there are none.
    pub fn average(&self) -> u64 {
        self.counters.average()
    }

    /// The shelf in one line: where it is, its limit and where that comes from.
    pub fn describe(&self) -> String {
        let from = match self.options.limit {
            Some(_) => "as given",
            None if self.in_memory() => "half of the free memory there",
            None => "80 % of the free space",
        };
        let stats = self.stats();
        let off = self.warning().map_or(String::new(), |why| format!("; {why}"));
        let tier = if self.in_memory() { "memory" } else { "disk" };
        format!(
            "{tier}, {}: {} samples, {}; at most {} for all processes of this machine ({from}){off}",
            self.options.folder.display(),
            stats.samples,
            readable(stats.bytes),
            readable(self.limit),
        )
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("folder", &self.options.folder)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
