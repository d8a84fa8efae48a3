//! What a cache may know of the future.

use std::{fmt::Debug, ops::Range};

/// The order in which a job needs bytes. Orders are known in advance, so a cache need not guess what to keep.
///
/// Positions count whatever the implementer likes (places of an epoch, batches), as long as they never go back and go on
/// across epochs. All processes that share a cache for one job give the same answers: positions are those of the job, and a
/// use by any process of the node counts.
pub trait Foresight: Debug + Send + Sync {
    /// The first position whose bytes were not asked for yet. Reads that are under way belong to positions before it.
    fn now(&self) -> u64;

    /// The first position, `from` or later, at which any of these bytes of the object is needed. `None`: not needed again as
    /// far as is known.
    fn next_use(&self, name: &str, bytes: &Range<u64>, from: u64) -> Option<u64>;

    /// How many of these bytes are needed at positions `during`. The default takes all of them for needed where one is.
    ///
    /// A better answer saves requests for large chunks of which one row is needed: what would be fetched for little use is
    /// read from the store as it is asked for, and kept by nobody.
    fn bytes_needed(&self, name: &str, bytes: &Range<u64>, during: Range<u64>) -> u64 {
        match self.next_use(name, bytes, during.start) {
            Some(at) if at < during.end => bytes.end.saturating_sub(bytes.start),
            _ => 0,
        }
    }
}
