//! Counters of a cache, for this process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[doc = $about:literal])+ $name:ident,)+) => {
        /// What a cache has done for this process.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct CacheStats {
            $($(#[doc = $about])+ pub $name: u64,)+
        }

        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: AtomicU64,)+
        }

        impl Counters {
            pub(super) fn stats(&self) -> CacheStats {
                CacheStats { $($name: self.$name.load(Relaxed),)+ }
            }
        }
    };
}

counters! {
    /// Chunks that were there when bytes of them were asked for.
    hits,
    /// Chunks that were not.
    misses,
    /// Chunks that were fetched before they were asked for.
    ahead,
    /// Ranges that were read from the store as they were asked for, and not kept.
    passed,
    /// Bytes that were read from the cache.
    cache_bytes,
    /// Bytes that were read from the store.
    store_bytes,
    /// Chunks that had to go for others.
    evictions,
    /// Chunks with wrong bytes, which were fetched again.
    damaged,
    /// Chunks that another process or thread was fetching.
    waits,
}

/// Adds to a counter.
pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Relaxed);
}

/// What a shelf has done for this process, and what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShelfStats {
    /// Samples that were taken from it.
    pub hits: u64,
    /// Their bytes.
    pub hit_bytes: u64,
    /// Samples that this process has put there.
    pub kept: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Samples with wrong bytes, which were made again.
    pub damaged: u64,
    /// Samples of this shelf, of all processes.
    pub samples: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of all shelves of the folder.
    pub used: u64,
    /// The most that these may be.
    pub limit: u64,
}

#[derive(Debug, Default)]
pub(super) struct ShelfCounters {
    hits: AtomicU64,
    hit_bytes: AtomicU64,
    kept: AtomicU64,
    kept_bytes: AtomicU64,
    damaged: AtomicU64,
}

impl ShelfCounters {
    pub(super) fn add_hit(&self, bytes: u64) {
        add(&self.hits, 1);
        add(&self.hit_bytes, bytes);
    }

    pub(super) fn add_kept(&self, bytes: u64) {
        add(&self.kept, 1);
        add(&self.kept_bytes, bytes);
    }

    pub(super) fn add_damaged(&self) {
        add(&self.damaged, 1);
    }

    /// The average bytes of the samples that were taken or put; 0 if there are none.
    pub(super) fn average(&self) -> u64 {
        let sum = |a: &AtomicU64, b: &AtomicU64| a.load(Relaxed) + b.load(Relaxed);
        sum(&self.hit_bytes, &self.kept_bytes).checked_div(sum(&self.hits, &self.kept)).unwrap_or(0)
    }

    pub(super) fn stats(&self, samples: u64, bytes: u64, used: u64, limit: u64) -> ShelfStats {
        ShelfStats {
            hits: self.hits.load(Relaxed),
            hit_bytes: self.hit_bytes.load(Relaxed),
            kept: self.kept.load(Relaxed),
            kept_bytes: self.kept_bytes.load(Relaxed),
            damaged: self.damaged.load(Relaxed),
            samples,
            bytes,
            used,
            limit,
        }
    }
}
