//! Whether reads come from memory or from a device.
//!
//! From the page cache, reading is a copy: a worker does it best itself, right before it decodes; handing the bytes
//! over between threads only adds cost. From a device, reading is waiting: then I/O threads read ahead, and announce what
//! they read next. The time that reads take shows which it is, and it can change in mid-epoch. What was announced in time takes no
//! time to read, though: then the stores tell whether it was in memory before.

use infeed_core::signals::Announced;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// Maximum time of a read from the page cache, per byte and per row.
const NS_PER_BYTE: f64 = 0.7;
const NS_PER_ROW: f64 = 30_000.0;
/// Weight of one read in the moving average: a single interrupted read does not change the result.
const WEIGHT: f64 = 1.0 / 8.0;
/// Share of announced bytes that a device must have given for reads to count as slow: a few misses are no reason.
const AWAY: f64 = 0.05;

/// Moving averages of the time of reads, relative to reads from memory, and of the share of announced bytes that were not in
/// memory.
#[derive(Debug)]
pub(crate) struct Pace {
    time: AtomicU64,
    away: AtomicU64,
    /// Counted by the stores, over all.
    announced: Arc<Announced>,
    /// What was in the averages at the last look.
    seen: Announced,
}

impl Default for Pace {
    /// Assumes a device until reads show otherwise: on a cold start the other error would cost more.
    fn default() -> Self {
        Pace {
            time: AtomicU64::new(1.5f64.to_bits()),
            away: AtomicU64::new(0f64.to_bits()),
            announced: Arc::default(),
            seen: Announced::default(),
        }
    }
}

impl Pace {
    /// Adds a read to the average.
    pub(crate) fn count(&self, bytes: u64, rows: usize, spent: Duration) {
        let memory = bytes as f64 * NS_PER_BYTE + rows as f64 * NS_PER_ROW;
        step(&self.time, (spent.as_nanos() as f64 / memory.max(1.0)).min(20.0));
    }

    /// Adds what stores have counted since the last call to the average.
    pub(crate) fn count_announced(&self) {
        let new = |all: &AtomicU64, seen: &AtomicU64| {
            let all = all.load(Relaxed);
            all.saturating_sub(seen.swap(all, Relaxed)) as f64
        };
        let here = new(&self.announced.here, &self.seen.here);
        let away = new(&self.announced.away, &self.seen.away);
        if here + away > 0.0 {
            step(&self.away, away / (here + away));
        }
    }

    /// Where stores count announced bytes.
    pub(crate) fn announced(&self) -> Arc<Announced> {
        Arc::clone(&self.announced)
    }

    /// Announced bytes that came from a device.
    pub(crate) fn bytes_away(&self) -> u64 {
        self.announced.away.load(Relaxed)
    }

    /// Whether reads are so slow that they should be done ahead of time.
    pub(crate) fn is_slow(&self) -> bool {
        let value = |average: &AtomicU64| f64::from_bits(average.load(Relaxed));
        value(&self.time) > 1.0 || value(&self.away) > AWAY
    }
}

/// Moves an average towards a value. Two threads may overwrite each other's update; an average tolerates that.
fn step(average: &AtomicU64, value: f64) {
    let before = f64::from_bits(average.load(Relaxed));
    average.store((before + (value - before) * WEIGHT).to_bits(), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_reads_tell() {
        let pace = Pace::default();
        assert!(pace.is_slow());
        (0..8).for_each(|_| pace.count(110_000, 1, Duration::from_micros(25)));
        assert!(!pace.is_slow(), "110 KB in 25 us come out of memory");
        pace.count(110_000, 1, Duration::from_micros(300));
        assert!(!pace.is_slow(), "one slow read is no device");
        (0..8).for_each(|_| pace.count(110_000, 1, Duration::from_micros(300)));
        assert!(pace.is_slow());
    }

    #[test]
    fn small_rows_are_judged_by_the_row() {
        let pace = Pace::default();
        (0..8).for_each(|_| pace.count(100_000, 50, Duration::from_micros(200)));
        assert!(!pace.is_slow());
        (0..8).for_each(|_| pace.count(100_000, 50, Duration::from_micros(5000)));
        assert!(pace.is_slow(), "100 us a row is a device");
    }

    #[test]
    fn what_was_announced_in_time_still_comes_from_a_device() {
        let pace = Pace::default();
        let fast = || (0..8).for_each(|_| pace.count(110_000, 1, Duration::from_micros(25)));
        let announce = |here: u64, away: u64| {
            pace.announced().here.fetch_add(here, Relaxed);
            pace.announced().away.fetch_add(away, Relaxed);
            pace.count_announced();
        };
        announce(0, 110_000);
        fast();
        assert!(pace.is_slow(), "it was fast because it was announced");
        (0..40).for_each(|_| announce(110_000, 0));
        assert!(!pace.is_slow(), "now it is in memory");
        // Nothing new is no proof of anything.
        announce(0, 110_000);
        (0..40).for_each(|_| pace.count_announced());
        assert!(pace.is_slow());
        assert_eq!(pace.bytes_away(), 220_000);
    }
}
