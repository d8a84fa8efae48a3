//! Counters that every thread adds to, and their interpretation.

mod bad;
mod cached;
mod chaos;
mod pace;
mod remote;
mod sample_cache;
mod stats;
mod verdict;

pub use bad::BadSample;
pub use cached::{Cached, EpochBytes};
pub use chaos::ChaosCounts;
pub use remote::RemoteUse;
pub use sample_cache::CacheUse;
pub(crate) use stats::Crew;
pub use stats::{StageShare, Stats};

use bad::BadSamples;
use cached::CacheTrace;
use chaos::Chaos;
use pace::Pace;
use sample_cache::SampleCounts;
use std::sync::{Arc, atomic::AtomicU64};

/// Counters of a loader, over all its epochs. Updated once per piece or batch, so their cost is negligible.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Batches handed out.
    pub(crate) batches: AtomicU64,
    /// Samples handed out.
    pub(crate) samples: AtomicU64,
    /// Bytes read.
    pub(crate) read_bytes: AtomicU64,
    /// Time spent reading, by any thread.
    pub(crate) read_ns: AtomicU64,
    /// The part of it that workers spent.
    pub(crate) own_read_ns: AtomicU64,
    /// Time of workers spent decoding.
    pub(crate) decode_ns: AtomicU64,
    /// Time of workers spent on everything else: resampling, finishing, copying.
    pub(crate) pixel_ns: AtomicU64,
    /// Time of workers spent waiting.
    pub(crate) idle_ns: AtomicU64,
    /// Time the consumer waited for batches.
    pub(crate) wait_ns: AtomicU64,
    /// Time the consumer spent between batches.
    pub(crate) consumer_ns: AtomicU64,
    /// Whether reads come from memory or from a device.
    pub(crate) pace: Pace,
    /// What caches of samples did: in memory, on disk.
    pub(crate) sample_caches: [SampleCounts; 2],
    /// Reads that were tried again.
    pub(crate) retries: Arc<AtomicU64>,
    /// What was injected on purpose.
    pub(crate) chaos: Chaos,
    /// Bad samples.
    pub(crate) bad: BadSamples,
    /// Where bytes came from.
    pub(crate) cached: CacheTrace,
}
