//! Bandwidth: bytes leave as fast as a link of a given rate would carry them.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How far a link may fall behind the clock and catch up: sleeps of threads end late.
const SLACK: Duration = Duration::from_millis(20);

/// One link, shared by all who send over it.
#[derive(Debug)]
pub(super) struct Pace {
    rate: f64,
    /// When everything sent so far has arrived.
    free: Mutex<Option<Instant>>,
}

impl Pace {
    /// A link of `rate` bytes per second.
    pub(super) fn new(rate: f64) -> Self {
        Pace { rate, free: Mutex::new(None) }
    }

    /// Puts `bytes` on the link. Returns how long it takes from `now` until they have arrived.
    pub(super) fn send(&self, bytes: u64, now: Instant) -> Duration {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let start = match *free {
            Some(free) => free.max(now.checked_sub(SLACK).unwrap_or(now)),
            None => now,
        };
        let arrival = start + Duration::from_secs_f64(bytes as f64 / self.rate);
        *free = Some(arrival);
        arrival.saturating_duration_since(now)
    }

    /// How many bytes to send at once: what takes 10 ms, so that links seem to run evenly.
    pub(super) fn step(&self) -> u64 {
        ((self.rate / 100.0) as u64).max(1024)
    }
}
