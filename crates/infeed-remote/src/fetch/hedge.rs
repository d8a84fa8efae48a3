//! A second request for an answer that is late: what comes first is taken.

use super::{Fetcher, extent::Extent, request};
use crate::{backend::Failure, stats::COUNTERS};
use futures_util::future::{Either, select};
use infeed_core::pool::PoolBuffer;
use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio::time::{sleep, timeout};

/// Larger requests are not sent twice.
pub(super) const LARGEST: u64 = 4 << 20;
/// A request that somebody waits for is late when it takes this many times the usual time.
const AWAITED: f64 = 2.0;
/// No request is late before this: on a near server a thread that had to wait for a processor would be taken for one.
const EARLIEST: Duration = Duration::from_millis(20);
/// One request in so many may be sent twice, and one byte in so many asked for twice.
const REQUESTS: u64 = 20;
const BYTES: u64 = 50;
/// The most second requests, and their bytes, that may come in a burst, however much was fetched before.
const BURST: [u64; 2] = [32, 32 << 20];

/// What second requests may still cost in this process.
pub(super) static ALLOWANCE: Allowance = Allowance { requests: AtomicU64::new(0), bytes: AtomicU64::new(0) };

/// Requests and bytes that were not spent yet. A second request spends [`REQUESTS`] and [`BYTES`] times its own.
#[derive(Debug)]
pub(super) struct Allowance {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Allowance {
    /// Counts what was asked for and what has come.
    pub(super) fn add(&self, requests: u64, bytes: u64) {
        for (saved, more, most) in
            [(&self.requests, requests, BURST[0] * REQUESTS), (&self.bytes, bytes, BURST[1] * BYTES)]
        {
            // Threads that count at the same time may pass the limit by a little.
            if more > 0 && saved.load(Relaxed) < most {
                saved.fetch_add(more, Relaxed);
            }
        }
    }

    /// Takes what a second request of this length costs. Without enough of it nothing is taken.
    fn spend(&self, len: u64) -> bool {
        let take = |saved: &AtomicU64, cost: u64| {
            saved.fetch_update(Relaxed, Relaxed, |saved| saved.checked_sub(cost)).is_ok()
        };
        if !take(&self.bytes, len.saturating_mul(BYTES)) {
            return false;
        }
        let enough = take(&self.requests, REQUESTS);
        if !enough {
            self.bytes.fetch_add(len * BYTES, Relaxed);
        }
        enough
    }
}

/// Sends a second request when the first is late, and takes what comes first.
pub(super) async fn transfer(
    fetcher: &Fetcher,
    extent: &Extent,
    buffer: PoolBuffer,
) -> (PoolBuffer, usize, Result<(), Failure>) {
    let (object, range, len) = (&*extent.object, extent.range.clone(), extent.len());
    let first = pin!(request::transfer(object, range.clone(), buffer, 0));
    let Some([half, most]) = COUNTERS.usual_latency([0.5, 0.98]) else { return first.await };
    let first = match select(first, pin!(is_late(extent, half, most))).await {
        Either::Left((done, _)) => return done,
        Either::Right(((), first)) => first,
    };
    let spare = ALLOWANCE.spend(len);
    let Some(second) = spare.then(|| fetcher.pool.take(len as usize).ok()).flatten() else {
        return first.await;
    };
    COUNTERS.hedges.fetch_add(1, Relaxed);
    let second = pin!(request::transfer(object, range, second, 0));
    match select(first, second).await {
        Either::Left((done, other)) => {
            if done.2.is_ok() {
                done
            } else {
                other.await
            }
        }
        Either::Right((done, other)) => {
            if done.2.is_ok() {
                done
            } else {
                other.await
            }
        }
    }
}

/// Returns when a request is late: slower than nearly all others, or much slower than most if somebody waits for it.
async fn is_late(extent: &Extent, half: Duration, most: Duration) {
    let most = most.max(EARLIEST);
    let soon = half.mul_f64(AWAITED).clamp(EARLIEST, most);
    sleep(soon).await;
    let _ = timeout(most - soon, extent.is_awaited()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_requests_stay_a_small_share() {
        let allowance = Allowance { requests: AtomicU64::new(0), bytes: AtomicU64::new(0) };
        assert!(!allowance.spend(1), "nothing was fetched yet");
        // Small objects among large ones: the number of requests is the limit. Equal ones: their bytes.
        for (len, share) in [(100, REQUESTS), (1 << 20, BYTES)] {
            let allowance = Allowance { requests: AtomicU64::new(0), bytes: AtomicU64::new(0) };
            let sent = (0..10_000)
                .filter(|_| {
                    allowance.add(1, 1 << 20);
                    allowance.spend(len)
                })
                .count() as u64;
            assert!(sent <= 10_000 / share && sent + 1 >= 10_000 / share, "{len}: {sent}");
        }
    }

    #[test]
    fn a_long_run_allows_no_storm() {
        let allowance = Allowance { requests: AtomicU64::new(0), bytes: AtomicU64::new(0) };
        (0..1_000_000).for_each(|_| allowance.add(1, 1 << 20));
        let sent = (0..1000).filter(|_| allowance.spend(100)).count() as u64;
        assert_eq!(sent, BURST[0]);
        assert!(!allowance.spend(LARGEST), "a request that is refused costs nothing");
    }
}
