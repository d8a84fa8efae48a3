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
