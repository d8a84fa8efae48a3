//! The same work on many shards, by several threads.

use infeed_core::{Error, Result};
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Does `work` with the numbers below `count`, `threads` at a time. Of several errors the first one is reported.
pub(super) fn each<T: Send + Sync>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Vec<OnceLock<Result<T>>> = (0..count).map(|_| OnceLock::new()).collect();
    let take = || {
        // Numbers are taken in order, so when one fails all before it are done or in hand, and the first fault of the
        // list is among those found.
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = done.get(at) else { break };
            let result = work(at);
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            // Each place is filled by whoever took its number, so it is empty.
            let _ = place.set(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(take);
        }
        take();
    });
    let lost = || Err(Error::Internal { what: "a shard was passed over while indexing".to_owned() });
    done.into_iter().map(|place| place.into_inner().unwrap_or_else(lost)).collect()
}
