//! How many requests run at a time: found by measuring.
//!
//! A request takes longer than the shortest one of its size when others are in its way. As long as it does not, more requests bring
//! more bytes; when it takes twice as long, they only wait for each other. So the number begins with what any service of its kind
//! takes, doubles while requests are as fast as the first ones, and then follows what the network and the service can do. Many
//! requests that start at the same moment would also end at the same moment, and whoever reads would get nothing, then everything.
//! It is halved when the service asks for fewer (429, 503) with more than a few of its answers.

use std::time::{Duration, Instant};

/// The fewest that a queue leads to, and where it begins if nobody knows better. On a machine whose processors are busy with batches
/// all requests take long, and fewer of them would not be faster.
const FEW: f64 = 16.0;
/// The fewest that a service can ask for.
const LEAST: f64 = 2.0;
/// A request that takes less than this times the shortest one has a free way; one that takes more than the other is in a queue.
const FREE: f64 = 1.6;
const QUEUED: f64 = 2.5;
/// How many requests more or fewer there are after each has come once.
const STEP: f64 = 8.0;
/// Networks change, and one answer may be faster than all others will be. So the shortest time is measured anew this often, with
/// half the requests for a moment.
const ANEW: Duration = Duration::from_secs(10);
/// After the service asked for fewer requests, their number stays for this long.
const CALM: Duration = Duration::from_secs(2);
/// The share of answers that must ask for fewer requests. Services refuse a request now and then, however few there are.
const ASKED: f64 = 0.05;
/// The weight of one answer in that share.
const WEIGHT: f64 = 1.0 / 32.0;
/// Sizes of requests, in powers of two.
const SIZES: usize = 40;

#[derive(Debug)]
pub(super) struct Flow {
    limit: f64,
    most: f64,
    /// Whether somebody has said where it begins.
    begun: bool,
    /// Whether the number still doubles.
    opening: bool,
    /// The shortest time of a request, in seconds, for each size.
    shortest: [f64; SIZES],
    /// When it was last measured anew. While that is under way: how many requests are left of it, and the number before.
    anew: Option<Instant>,
    measuring: Option<(usize, f64)>,
    calm_until: Option<Instant>,
    /// The share of the last answers that asked for fewer requests.
    asked: f64,
}

impl Flow {
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(1) as f64;
        Flow {
            limit: FEW.min(most),
            most,
            begun: false,
            opening: true,
            shortest: [f64::INFINITY; SIZES],
            anew: None,
            measuring: None,
            calm_until: None,
            asked: 0.0,
        }
    }

    /// Begins with so many requests: as many as the first batch needs at once should not take turns.
    pub(super) fn begin_with(&mut self, requests: usize) {
        if !self.begun {
            self.begun = true;
            self.limit = (requests as f64).min(self.most);
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit as usize
    }

    /// Counts a request that has ended. Only while others wait does their number limit the rate.
    pub(super) fn count(&mut self, bytes: u64, took: Duration, busy: bool) {
        self.count_at(bytes, took, busy, Instant::now());
    }

    fn count_at(&mut self, bytes: u64, took: Duration, busy: bool, now: Instant) {
        let took = took.as_secs_f64().max(1e-6);
        let shortest = &mut self.shortest[(bytes.max(1).ilog2() as usize).min(SIZES - 1)];
        *shortest = shortest.min(took);
        let ratio = took / *shortest;
        self.asked -= self.asked * WEIGHT;
        if self.calm_until.is_some_and(|until| now < until) || self.is_measuring(now) {
            return;
        }
        let change = if ratio < FREE {
            if self.opening { 1.0 } else { STEP / self.limit }
        } else if ratio > QUEUED {
            self.opening = false;
            -STEP / self.limit
        } else {
            0.0
        };
        if change < 0.0 || busy {
            self.limit = (self.limit + change).max(self.limit.min(FEW)).min(self.most);
        }
    }

    /// Measures the shortest time anew now and then. Returns whether that is under way.
    fn is_measuring(&mut self, now: Instant) -> bool {
        if let Some((left, before)) = &mut self.measuring {
            *left -= 1;
            if *left == 0 {
                self.limit = *before;
                self.measuring = None;
            }
            return true;
        }
        let last = *self.anew.get_or_insert(now);
        if self.opening || now.saturating_duration_since(last) < ANEW {
            return false;
        }
        self.anew = Some(now);
        self.shortest = [f64::INFINITY; SIZES];
        // Those that are on their way began among many others.
        self.measuring = Some((2 * self.limit as usize, self.limit));
        self.limit = (self.limit / 2.0).max(self.limit.min(FEW));
        true
    }

    /// The service asks for fewer requests.
    pub(super) fn slow_down(&mut self) {
        self.asked += (1.0 - self.asked) * WEIGHT;
        if self.asked < ASKED {
            return;
        }
        let now = Instant::now();
        // All requests on their way may get the same answer: they count once.
        if self.calm_until.is_some_and(|until| now + CALM / 2 < until) {
            return;
        }
        self.limit = (self.limit / 2.0).max(LEAST.min(self.most));
        self.opening = false;
        self.measuring = None;
        self.calm_until = Some(now + CALM);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that answers in 30 ms as long as at most `knee` requests run, and later when there are more. Every hundredth
    /// answer is late.
    fn settle(knee: usize, most: usize) -> usize {
        let mut flow = Flow::new(most);
        let mut now = Instant::now();
        // One answer that came from a cache must not make all others look slow for ever.
        flow.count_at(2 << 20, Duration::from_millis(1), true, now);
        for number in 0..60_000u32 {
            let queue = (flow.limit() as f64 / knee as f64).max(1.0);
            now += Duration::from_secs_f64(0.03 * queue / flow.limit() as f64);
            let late = if number % 100 == 0 { 600 } else { 0 };
            let took = Duration::from_secs_f64(0.03 * queue) + Duration::from_millis(late);
            flow.count_at(2 << 20, took, true, now);
        }
        flow.limit()
    }

    #[test]
    fn it_grows_while_that_helps() {
        assert!((160..=256).contains(&settle(120, 256)), "{}", settle(120, 256));
        assert!((16..=26).contains(&settle(10, 256)), "{}", settle(10, 256));
        assert_eq!(settle(1000, 32), 32);
    }

    #[test]
    fn it_opens_within_a_few_rounds() {
        let mut flow = Flow::new(256);
        let now = Instant::now();
        for _ in 0..100 {
            flow.count_at(2 << 20, Duration::from_millis(30), true, now);
        }
        assert!(flow.limit() > 100, "{}", flow.limit());
        // Who has enough requests on their way does not need more.
        let mut idle = Flow::new(256);
        (0..100).for_each(|_| idle.count_at(2 << 20, Duration::from_millis(30), false, now));
        assert_eq!(idle.limit(), FEW as usize);
    }

    #[test]
    fn it_begins_with_what_the_service_takes() {
        let mut flow = Flow::new(256);
        flow.begin_with(64);
        assert_eq!(flow.limit(), 64);
        // A queue leads to fewer, and what was measured is not forgotten for another object.
        let now = Instant::now();
        flow.count_at(2 << 20, Duration::from_millis(30), true, now);
        (0..10_000).for_each(|_| flow.count_at(2 << 20, Duration::from_millis(150), true, now));
        flow.begin_with(64);
        assert_eq!(flow.limit(), FEW as usize);
        let mut few = Flow::new(8);
        few.begin_with(64);
        assert_eq!(few.limit(), 8);
    }

    #[test]
    fn it_shrinks_when_asked_to() {
        let mut flow = Flow::new(256);
        (0..56).for_each(|_| flow.count_at(1, Duration::from_millis(30), true, Instant::now()));
        let before = flow.limit();
        (0..10).for_each(|_| flow.slow_down());
        assert_eq!(flow.limit(), before / 2);
    }

    #[test]
    fn busy_processors_do_not_stop_it() {
        let mut flow = Flow::new(256);
        let now = Instant::now();
        flow.count_at(2 << 20, Duration::from_millis(30), true, now);
        (0..10_000).for_each(|_| flow.count_at(2 << 20, Duration::from_millis(150), true, now));
        assert_eq!(flow.limit(), FEW as usize);
        // A service that refuses is another matter, and it recovers from that.
        (0..400).for_each(|_| {
            flow.calm_until = None;
            flow.slow_down();
        });
        assert_eq!(flow.limit(), LEAST as usize);
        flow.calm_until = None;
        (0..10_000).for_each(|_| flow.count_at(2 << 20, Duration::from_millis(31), true, now));
        assert!(flow.limit() > 100);
    }

    #[test]
    fn a_few_refusals_do_not_slow_it_down() {
        let mut flow = Flow::new(256);
        let now = Instant::now();
        for number in 0..4000 {
            flow.count_at(2 << 20, Duration::from_millis(30), true, now);
            if number % 100 == 0 {
                flow.slow_down();
            }
        }
        assert_eq!(flow.limit(), 256);
    }
}
