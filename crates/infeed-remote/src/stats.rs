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
const ENOUGH: u64 = 16;
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

/// What all remote stores of this process were asked for, and how they answered.
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

/// The counters at one moment, to tell what happened since: a loader speaks of its own time, not of what the process did before.
#[derive(Debug, Clone)]
pub struct RemoteMark {
    requests: u64,
    retries: u64,
    slow_downs: u64,
    hedges: u64,
    bytes: u64,
    ready: u64,
    waited: u64,
    taken_us: u64,
    latencies: [u64; CLASSES],
}

impl RemoteMark {
    /// The moment when the process began.
    const BEGIN: RemoteMark = RemoteMark {
        requests: 0,
        retries: 0,
        slow_downs: 0,
        hedges: 0,
        bytes: 0,
        ready: 0,
        waited: 0,
        taken_us: 0,
        latencies: [0; CLASSES],
    };

    /// This moment.
    pub fn now() -> Self {
        let counters = &COUNTERS;
        RemoteMark {
            requests: counters.requests.load(Relaxed),
            retries: counters.retries.load(Relaxed),
            slow_downs: counters.slow_downs.load(Relaxed),
            hedges: counters.hedges.load(Relaxed),
            bytes: counters.bytes.load(Relaxed),
            ready: counters.ready.load(Relaxed),
            waited: counters.waited.load(Relaxed),
            taken_us: counters.taken_us.load(Relaxed),
            latencies: counters.latencies.hold().all,
        }
    }

    /// Returns what happened since this moment.
    pub fn since(&self) -> RemoteStats {
        let now = RemoteMark::now();
        let latencies = std::array::from_fn(|class| now.latencies[class] - self.latencies[class]);
        RemoteStats {
            requests: now.requests - self.requests,
            retries: now.retries - self.retries,
            slow_downs: now.slow_downs - self.slow_downs,
            hedges: now.hedges - self.hedges,
            bytes: now.bytes - self.bytes,
            in_flight: COUNTERS.in_flight.load(Relaxed),
            reads_ready: now.ready - self.ready,
            reads_waited: now.waited - self.waited,
            latency_ms: [0.5, 0.95, 0.99].map(|share| quantile(&latencies, share) * 1e3),
            fastest_ms: quantile(&latencies, 0.05) * 1e3,
            request_s: (now.taken_us - self.taken_us) as f64 / 1e6,
        }
    }
}

/// Returns the statistics of all remote stores since the process began.
pub fn all_stats() -> RemoteStats {
    RemoteMark::BEGIN.since()
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
    fn a_mark_tells_what_happened_since() {
        let fast = Duration::from_millis(1);
        (0..100).for_each(|_| COUNTERS.count_latency(fast));
        let mark = RemoteMark::now();
        // Other tests count, too: these are slower than all of them.
        (0..1000).for_each(|_| COUNTERS.count_latency(Duration::from_secs(50)));
        let since = mark.since();
        assert!(since.latency_ms[0] > 40_000.0 && since.request_s >= 50_000.0, "{since:?}");
        assert!(all_stats().request_s > since.request_s);
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
