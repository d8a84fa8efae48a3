//! What was asked of remote stores, and what that says about the rate.

use serde::Serialize;
use std::fmt;

/// From this many times the latency of a free link on, requests wait for each other: the link is full.
const QUEUED: f64 = 2.5;
/// The share of answers that ask for fewer requests from which on they matter.
const REFUSED: f64 = 0.02;
/// With fewer requests on their way, on average, the loader reads from elsewhere.
const UNDER_WAY: f64 = 0.5;
/// The share of reads that must have waited for a store to be the limit.
const WAITED: f64 = 0.2;

/// What this process has asked of remote stores since a loader was made, with all its loaders.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RemoteUse {
    /// Requests that were sent, tries and second requests included.
    pub requests: u64,
    /// Requests that were sent again after a fault.
    pub retries: u64,
    /// Answers that asked for fewer requests (429, 503).
    pub slow_downs: u64,
    /// Second requests for answers that were late.
    pub hedges: u64,
    /// Bytes received, those of second requests included.
    pub bytes: u64,
    /// Requests on their way now.
    pub in_flight: u64,
    /// Requests on their way on average, while this loader was iterated.
    pub mean_in_flight: f64,
    /// Reads whose bytes were here.
    pub reads_ready: u64,
    /// Reads that waited for bytes.
    pub reads_waited: u64,
    /// Time from a request to its last byte, in milliseconds: median, 95th and 99th percentile.
    pub latency_ms: [f64; 3],
    /// What the fastest twentieth of the requests took at most: the latency of a free link.
    pub fastest_ms: f64,
}

impl RemoteUse {
    fn reads(&self) -> u64 {
        self.reads_ready + self.reads_waited
    }

    /// Whether reads had to wait for a store.
    pub(super) fn is_waited_for(&self) -> bool {
        self.mean_in_flight > UNDER_WAY && self.reads_waited as f64 > WAITED * self.reads() as f64
    }

    /// Why the store is no faster, and what helps.
    pub(super) fn why(&self) -> String {
        let [median, ..] = self.latency_ms;
        let under_way = format!("{:.0} requests in flight, {median:.0} ms each", self.mean_in_flight);
        if self.slow_downs as f64 > REFUSED * self.requests as f64 {
            let share = 100.0 * self.slow_downs as f64 / self.requests as f64;
            return format!(
                "the store refuses {share:.0} % of the requests (429, 503; {under_way}); a cache (cache=), staging or \
                 fewer readers would help"
            );
        }
        if median > QUEUED * self.fastest_ms {
            return format!(
                "the store's bandwidth is the limit: {under_way}, and {:.0} ms when the link is free; a cache (cache=), \
                 staging or fewer bytes would help",
                self.fastest_ms
            );
        }
        format!(
            "the store's latency is the limit: {under_way}; a larger ahead= of the store, shuffle() instead of rows that are far \
             apart, or a cache (cache=) would help"
        )
    }
}

impl fmt::Display for RemoteUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, most, rare] = self.latency_ms;
        write!(
            f,
            "{} requests ({} again, {} twice), {:.0} MB, {:.0} in flight, {median:.0} / {most:.0} / {rare:.0} ms (median, \
             95 %, 99 %); {:.0} % of {} reads did not wait",
            self.requests,
            self.retries,
            self.hedges,
            self.bytes as f64 / 1e6,
            self.mean_in_flight,
            100.0 * self.reads_ready as f64 / self.reads().max(1) as f64,
            self.reads()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> RemoteUse {
        RemoteUse {
            requests: 1000,
            reads_waited: 900,
            reads_ready: 100,
            mean_in_flight: 63.7,
            latency_ms: [41.0, 60.0, 90.0],
            fastest_ms: 38.0,
            ..RemoteUse::default()
        }
    }

    #[test]
    fn causes_are_told_apart() {
        assert!(seen().is_waited_for());
        let why = seen().why();
        assert!(why.contains("latency is the limit: 64 requests in flight, 41 ms each"), "{why}");
        let full = RemoteUse { fastest_ms: 10.0, ..seen() }.why();
        assert!(
            full.contains("bandwidth is the limit") && full.contains("10 ms when the link is free"),
            "{full}"
        );
        let refused = RemoteUse { slow_downs: 50, ..seen() }.why();
        assert!(refused.contains("refuses 5 % of the requests"), "{refused}");
        assert!(!RemoteUse { reads_ready: 9000, ..seen() }.is_waited_for());
        assert!(!RemoteUse { mean_in_flight: 0.1, ..seen() }.is_waited_for(), "others asked for it");
    }
}
