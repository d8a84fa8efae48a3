//! Whether reads come from memory or from a device.
//!
//! From the page cache, reading is a copy: a worker does it best itself, right before it decodes; handing the bytes
//! over between threads only adds cost. From a device, reading is waiting: then I/O threads read ahead. The time that
//! reads take shows which it is, and it can change in mid-epoch.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Maximum time of a read from the page cache, per byte and per row.
const NS_PER_BYTE: f64 = 0.7;
const NS_PER_ROW: f64 = 30_000.0;
/// Weight of one read in the moving average: a single interrupted read does not change the result.
const WEIGHT: f64 = 1.0 / 8.0;

/// A moving average of the time of reads, relative to reads from memory.
#[derive(Debug)]
pub(crate) struct Pace {
    average: AtomicU64,
}

impl Default for Pace {
    /// Assumes a device until reads show otherwise: on a cold start the other error would cost more.
    fn default() -> Self {
        Pace { average: AtomicU64::new(1.5f64.to_bits()) }
    }
}

impl Pace {
    /// Adds a read to the average.
    pub(crate) fn count(&self, bytes: u64, rows: usize, spent: Duration) {
        let memory = bytes as f64 * NS_PER_BYTE + rows as f64 * NS_PER_ROW;
        let ratio = (spent.as_nanos() as f64 / memory.max(1.0)).min(20.0);
        // Two threads may overwrite each other's update; an average tolerates that.
        let average = f64::from_bits(self.average.load(Relaxed));
        self.average.store((average + (ratio - average) * WEIGHT).to_bits(), Relaxed);
    }

    /// Whether reads are so slow that they should be done ahead of time.
    pub(crate) fn is_slow(&self) -> bool {
        f64::from_bits(self.average.load(Relaxed)) > 1.0
    }
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
}
