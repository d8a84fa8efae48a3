//! Caches, as those who read through them see them.

use crate::Shard;
use serde::Serialize;
use std::{fmt::Debug, ops::Range, sync::Arc};

/// A store that keeps what it has read from another one.
pub trait Cache: Debug + Send + Sync {
    /// The bytes that are kept, or not, as a whole.
    fn chunk(&self) -> u64;

    /// The most bytes that it keeps.
    fn limit(&self) -> u64;

    /// How many bytes are kept of an object of this size, if all of it is.
    fn room_for(&self, size: u64) -> u64;

    /// What it has done so far, for this process.
    fn counts(&self) -> CacheCounts;

    /// Tells it what will be needed. All processes that share it for one job should.
    fn set_future(&self, future: Arc<dyn Foresight>);
}

/// What a job will need. Orders are known in advance, so a cache need not guess what to keep.
///
/// What counts is how often bytes are needed, not when. Between two uses of a byte in two epochs lies the end of an epoch, so
/// where every byte is needed once in each, a cache serves at most what it holds at that end, whichever bytes it chose. Bytes that
/// are needed more often than others, or never again, make the difference.
///
/// All processes of a job give the same answers: it is the job that needs the bytes, not a rank.
pub trait Foresight: Debug + Send + Sync {
    /// Changes whenever the answers do.
    fn version(&self) -> u64;

    /// How many of these bytes of an object are needed in the next epoch; what is needed twice counts twice. `None` for objects
    /// that the job does not read, and as long as it is not known.
    fn needed(&self, object: &Shard, bytes: &Range<u64>) -> Option<u64>;
}

/// What a cache has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheCounts {
    /// Bytes that came from the cache.
    pub cache_bytes: u64,
    /// Bytes that came from the store behind it.
    pub store_bytes: u64,
    /// Chunks that had to go for others.
    pub evictions: u64,
    /// Chunks with wrong bytes, which were fetched again.
    pub damaged: u64,
}

impl CacheCounts {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: CacheCounts) -> CacheCounts {
        CacheCounts {
            cache_bytes: self.cache_bytes + other.cache_bytes,
            store_bytes: self.store_bytes + other.store_bytes,
            evictions: self.evictions + other.evictions,
            damaged: self.damaged + other.damaged,
        }
    }

    /// What was added since an earlier count.
    #[must_use]
    pub fn since(self, before: CacheCounts) -> CacheCounts {
        CacheCounts {
            cache_bytes: self.cache_bytes.saturating_sub(before.cache_bytes),
            store_bytes: self.store_bytes.saturating_sub(before.store_bytes),
            evictions: self.evictions.saturating_sub(before.evictions),
            damaged: self.damaged.saturating_sub(before.damaged),
        }
    }
}
