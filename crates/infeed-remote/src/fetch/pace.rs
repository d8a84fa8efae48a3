//! How far to look ahead: found by measuring.
//!
//! What is on its way must cover the time that a request takes, at the rate that bytes come in. More than that helps when a request is
//! late, and costs memory, whose pages must be cleared first.

use std::time::{Duration, Instant};

/// The least bytes to have announced: also the first, before anything was measured.
pub(super) const LEAST: u64 = 96 << 20;
/// How late a request may be without anybody waiting for it.
const SPARE: f64 = 0.1;
/// A measurement takes at least this long.
const TIME: Duration = Duration::from_millis(50);
/// What is left of the old rate when a lower one was measured: the consumer may have paused.
const KEPT: f64 = 0.8;

#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The measurement under way.
    since: Option<Instant>,
    bytes: u64,
    /// Bytes per second.
    rate: f64,
    /// The shortest time of a request, in seconds: without the time that it waited for the others.
    shortest: Option<f64>,
}

impl Pace {
    /// Counts a request. Returns how many bytes should be announced.
    pub(super) fn count(&mut self, bytes: u64, took: Duration) -> u64 {
        self.count_at(bytes, took, Instant::now())
    }

    fn count_at(&mut self, bytes: u64, took: Duration, now: Instant) -> u64 {
        let took = took.as_secs_f64();
        let shortest = self.shortest.map_or(took, |known| known.min(took));
        self.shortest = Some(shortest);
        self.bytes += bytes;
        let since = *self.since.get_or_insert(now);
        let spent = now.saturating_duration_since(since);
        if spent >= TIME {
            self.rate = (self.bytes as f64 / spent.as_secs_f64()).max(self.rate * KEPT);
            (self.since, self.bytes) = (Some(now), 0);
        }
        // Twice the time of a request: then what is announced never limits the rate, and the rate can grow.
        LEAST.max((self.rate * (SPARE + 2.0 * shortest)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that brings what was announced after a time, up to its rate.
    fn settle(latency: f64, link: f64) -> u64 {
        let (mut pace, mut target) = (Pace::default(), LEAST);
        let start = Instant::now();
        let mut at = 0.0;
        for _ in 0..20_000 {
            at += 1e6 / (target as f64 / latency).min(link);
            target = pace.count_at(
                1_000_000,
                Duration::from_secs_f64(latency),
                start + Duration::from_secs_f64(at),
            );
        }
        target
    }

    #[test]
    fn it_covers_the_time_of_requests() {
        for (latency, link) in [(0.03, 1e9), (0.3, 1e9), (1.0, 5e8)] {
            assert!(settle(latency, link) as f64 > link * latency * 1.5, "{latency} s, {link} bytes/s");
        }
        assert_eq!(settle(0.03, 1e8), LEAST, "slow links need little");
    }
}
