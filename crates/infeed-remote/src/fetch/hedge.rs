//! A second request for an answer that is late: what comes first is taken.

use super::{Fetcher, extent::Extent, request};
use crate::{backend::Failure, stats::COUNTERS};
use futures_util::future::{Either, select};
use infeed_core::pool::PoolBuffer;
use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};

/// Larger requests are not sent twice.
pub(super) const LARGEST: u64 = 4 << 20;
/// A request that somebody waits for is late when it takes this many times what half of all take at most, and this many times what
/// nearly all do: second requests are few, and one for an answer that is slow as others are would be missed for one that does not come.
const HALF: f64 = 2.0;
const NEARLY_ALL: f64 = 1.25;
/// One that nobody waits for yet may take this many times as long.
const UNAWAITED: f64 = 1.25;
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
    let first = match select(first, pin!(is_late(extent))).await {
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

/// After which time a request is late, from what half of all requests take at most, and nearly all.
fn late_after(half: Duration, nearly_all: Duration) -> Duration {
    half.mul_f64(HALF).max(nearly_all.mul_f64(NEARLY_ALL)).max(EARLIEST)
}

/// Returns when a request is late: later if nobody waits for it.
async fn is_late(extent: &Extent) {
    let begun = Instant::now();
    // The first requests of a process begin together: those that were answered say what is usual for the others.
    let after = loop {
        match COUNTERS.usual_latency([0.5, 0.95]) {
            Some([half, nearly_all]) => break late_after(half, nearly_all),
            None => sleep(EARLIEST).await,
        }
    };
    sleep(after.saturating_sub(begun.elapsed())).await;
    let _ = timeout(after.mul_f64(UNAWAITED - 1.0), extent.is_awaited()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_slow_as_others_are_is_not_late() {
        let ms = Duration::from_millis;
        // A busy network: what takes 120 ms is nothing unusual.
        assert!(late_after(ms(60), ms(100)) > ms(120));
        // More than a few are very late: half of them tell what is usual.
        assert_eq!(late_after(ms(30), ms(31)), ms(60));
        // A near server.
        assert_eq!(late_after(ms(1), ms(2)), EARLIEST);
    }

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
