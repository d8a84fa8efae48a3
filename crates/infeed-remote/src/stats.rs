//! What was asked of remote stores: for statistics and the verdict.

use infeed_core::Hold;
use serde::Serialize;
use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// Upper bounds of the classes of latencies, in microseconds: powers of the fourth root of two, from 100 us to 100 s.
const CLASSES: usize = 80;
/// Requests that are needed to say what is usual, and those that count as the last ones.
const ENOUGH: u64 = 64;
const RECENT: u64 = 2048;

/// Counters of one process, over all its remote stores.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) slow_downs: AtomicU64,
    pub(crate) hedges: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    /// Reads that found their bytes here, and those that had to wait for them.
    pub(crate) ready: AtomicU64,
    pub(crate) waited: AtomicU64,
    /// The time that all requests took, in microseconds.
    taken_us: AtomicU64,
    latencies: Mutex<Latencies>,
}

/// How long requests took, by class.
#[derive(Debug)]
struct Latencies {
    all: [u64; CLASSES],
    /// Those of the last requests: when there are enough, each counts half from then on.
    recent: [u64; CLASSES],
}

/// The counters of this process.
pub(crate) static COUNTERS: Counters = Counters {
    requests: AtomicU64::new(0),
    retries: AtomicU64::new(0),
    slow_downs: AtomicU64::new(0),
    hedges: AtomicU64::new(0),
    bytes: AtomicU64::new(0),
    in_flight: AtomicU64::new(0),
    ready: AtomicU64::new(0),
    waited: AtomicU64::new(0),
    taken_us: AtomicU64::new(0),
    latencies: Mutex::new(Latencies { all: [0; CLASSES], recent: [0; CLASSES] }),
};

/// Statistics of the remote stores of this process since it began.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RemoteStats {
    /// Requests that were sent, tries and hedges included.
    pub requests: u64,
    /// Requests that were sent again after a fault.
    pub retries: u64,
    /// Answers that asked for fewer requests (429, 503).
    pub slow_downs: u64,
    /// Second requests for answers that were late.
    pub hedges: u64,
    /// Bytes received, those of hedges included.
    pub bytes: u64,
    /// Requests on their way.
    pub in_flight: u64,
    /// Reads whose bytes were here.
    pub reads_ready: u64,
    /// Reads that waited for bytes.
    pub reads_waited: u64,
    /// Time from a request to its last byte, in milliseconds: median, 95th and 99th percentile.
    pub latency_ms: [f64; 3],
    /// What the fastest twentieth of the requests took at most, in milliseconds: the latency of a free link.
    pub fastest_ms: f64,
    /// Seconds that all requests took together: divided by the time that passed, how many were on their way.
    pub request_s: f64,
}

/// Returns the statistics of all remote stores of this process.
pub fn all_stats() -> RemoteStats {
    let counters = &COUNTERS;
    let latencies = counters.latencies.hold().all;
    RemoteStats {
        requests: counters.requests.load(Relaxed),
        retries: counters.retries.load(Relaxed),
        slow_downs: counters.slow_downs.load(Relaxed),
        hedges: counters.hedges.load(Relaxed),
        bytes: counters.bytes.load(Relaxed),
        in_flight: counters.in_flight.load(Relaxed),
        reads_ready: counters.ready.load(Relaxed),
        reads_waited: counters.waited.load(Relaxed),
        latency_ms: [0.5, 0.95, 0.99].map(|share| quantile(&latencies, share) * 1e3),
        fastest_ms: quantile(&latencies, 0.05) * 1e3,
        request_s: counters.taken_us.load(Relaxed) as f64 / 1e6,
    }
}

impl Counters {
    pub(crate) fn count_latency(&self, time: Duration) {
        self.taken_us.fetch_add(time.as_micros() as u64, Relaxed);
        self.latencies.hold().count(time);
    }

    /// The times that these shares of the last requests took at most, once there are enough to say.
    pub(crate) fn usual_latency<const N: usize>(&self, shares: [f64; N]) -> Option<[Duration; N]> {
        let recent = self.latencies.hold().recent;
        let enough = recent.iter().sum::<u64>() >= ENOUGH;
        enough.then(|| shares.map(|share| Duration::from_secs_f64(quantile(&recent, share))))
    }
}

impl Latencies {
    fn count(&mut self, time: Duration) {
        let class = class(time);
        self.all[class] += 1;
        self.recent[class] += 1;
        // A network that was fast an hour ago says little about what is late now.
        if self.recent.iter().sum::<u64>() >= RECENT {
            self.recent.iter_mut().for_each(|count| *count /= 2);
        }
    }
}

fn class(time: Duration) -> usize {
    let steps = (time.as_secs_f64().max(1e-4) / 1e-4).log2() * 4.0;
    (steps.ceil() as usize).min(CLASSES - 1)
}

/// In seconds, up to the width of a class.
fn quantile(counts: &[u64; CLASSES], share: f64) -> f64 {
    let total: u64 = counts.iter().sum();
    let mut left = (total as f64 * share).ceil() as u64;
    for (class, count) in counts.iter().enumerate() {
        if left <= *count && total > 0 {
            return 1e-4 * (class as f64 / 4.0).exp2();
        }
        left = left.saturating_sub(*count);
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_a_class() {
        let mut counts = [0; CLASSES];
        (1..=1000u64).for_each(|ms| counts[class(Duration::from_millis(ms))] += 1);
        for (share, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let found = quantile(&counts, share) * 1e3;
            assert!(found >= ms && found < ms * 1.19, "{share}: {found}");
        }
        assert_eq!(quantile(&[0; CLASSES], 0.5), 0.0);
        assert_eq!(class(Duration::from_secs(10_000)), CLASSES - 1);
    }

    #[test]
    fn what_is_usual_follows_the_network() {
        let mut latencies = Latencies { all: [0; CLASSES], recent: [0; CLASSES] };
        (0..100_000).for_each(|_| latencies.count(Duration::from_millis(10)));
        (0..10_000).for_each(|_| latencies.count(Duration::from_millis(100)));
        assert!(quantile(&latencies.all, 0.5) < 0.02);
        assert!(quantile(&latencies.recent, 0.1) > 0.09);
    }
}
