//! How many requests run at a time: found by measuring.
//!
//! The number grows while more requests bring more bytes, and stays where they no longer do. It is halved when the service asks
//! for fewer (429, 503), and grows again after a while.

use std::time::{Duration, Instant};

/// Where it begins, and the fewest.
const FIRST: usize = 64;
const FEWEST: usize = 4;
/// A measurement takes at least this long and this many requests for each that may run.
const TIME: Duration = Duration::from_millis(200);
/// More bytes per second than this times the last measurement are an improvement.
const BETTER: f64 = 1.08;
/// After the service asked for fewer requests, their number stays for this long.
const CALM: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Flow {
    limit: usize,
    most: usize,
    /// Bytes and requests of the measurement under way.
    bytes: u64,
    requests: usize,
    since: Option<Instant>,
    /// The rate with the number before this one.
    last: f64,
    /// The number and rate to go back to, while a larger number is tried.
    tried: Option<(usize, f64)>,
    calm_until: Option<Instant>,
}

impl Flow {
    pub(super) fn new(most: usize) -> Self {
        let limit = FIRST.min(most).max(1);
        Flow {
            limit,
            most: most.max(1),
            bytes: 0,
            requests: 0,
            since: None,
            last: 0.0,
            tried: None,
            calm_until: None,
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Counts a request that has ended. Only while others wait does their number limit the rate.
    pub(super) fn count(&mut self, bytes: u64, busy: bool) {
        self.count_at(bytes, busy, Instant::now());
    }

    fn count_at(&mut self, bytes: u64, busy: bool, now: Instant) {
        if !busy {
            self.since = None;
            return;
        }
        let since = *self.since.get_or_insert_with(|| {
            (self.bytes, self.requests) = (0, 0);
            now
        });
        self.bytes += bytes;
        self.requests += 1;
        let spent = now.saturating_duration_since(since);
        if spent < TIME || self.requests < 2 * self.limit {
            return;
        }
        let rate = self.bytes as f64 / spent.as_secs_f64();
        self.since = None;
        if self.calm_until.is_some_and(|until| now < until) {
            return;
        }
        match self.tried.take() {
            // The larger number brought nothing: back, and no further tries until the rate changes.
            Some((before, was)) if rate < was * BETTER => {
                self.limit = before;
                self.last = was.max(rate);
            }
            _ if self.limit < self.most && (self.last == 0.0 || rate > self.last * BETTER) => {
                self.tried = Some((self.limit, rate));
                self.last = rate;
                self.limit = (self.limit * 3 / 2).clamp(self.limit + 1, self.most);
            }
            _ => {}
        }
    }

    /// The service asks for fewer requests.
    pub(super) fn slow_down(&mut self) {
        let now = Instant::now();
        // All requests on their way may get the same answer: they count once.
        if self.calm_until.is_some_and(|until| now + CALM / 2 < until) {
            return;
        }
        self.limit = (self.limit / 2).max(FEWEST.min(self.most));
        self.calm_until = Some(now + CALM);
        (self.since, self.tried, self.last) = (None, None, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service whose rate grows with the number of requests up to `knee`.
    fn settle(knee: usize, most: usize) -> usize {
        let mut flow = Flow::new(most);
        let mut now = Instant::now();
        for _ in 0..20_000 {
            let rate = flow.limit().min(knee) as f64 * 1e6;
            now += Duration::from_secs_f64(1e5 / rate);
            flow.count_at(100_000, true, now);
        }
        flow.limit()
    }

    #[test]
    fn it_grows_while_that_helps() {
        assert!((150..=256).contains(&settle(200, 256)), "{}", settle(200, 256));
        assert_eq!(settle(10, 256), FIRST);
        assert_eq!(settle(1000, 32), 32);
    }

    #[test]
    fn it_shrinks_when_asked_to() {
        let mut flow = Flow::new(256);
        (0..10).for_each(|_| flow.slow_down());
        assert_eq!(flow.limit(), FIRST / 2);
    }
}
