//! What passed through a proxy.

use super::plan::Fault;
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// What passed through a proxy since it was started or reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Requests that came.
    pub requests: u64,
    /// Bytes of bodies that were sent to clients, without heads.
    pub bytes: u64,
    /// Connections that clients opened.
    pub connections: u64,
    /// Answers by status, those of the proxy included.
    pub statuses: BTreeMap<u16, u64>,
    /// Faults that happened, by kind. Requests of the tail are counted as `tail`.
    pub faults: BTreeMap<String, u64>,
    /// Faults that were drawn but could not happen, such as a wrong range where none was asked for.
    pub missed: u64,
    /// Requests under way now.
    pub in_flight: u64,
    /// The most requests that were under way at one time.
    pub most_in_flight: u64,
    /// Requests by key (`GET /path?query bytes=0-99`), if `keys` was asked for.
    pub keys: BTreeMap<String, u64>,
}

/// Counts for [`Stats`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    tally: Mutex<Tally>,
    // Counted for every piece of a body, so not under the lock.
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Tally {
    stats: Stats,
    keys: HashMap<String, u64>,
}

impl Counters {
    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been counted.
    pub(super) fn stats(&self) -> Stats {
        let tally = self.lock();
        let keys = tally.keys.iter().map(|(key, count)| (key.clone(), *count)).collect();
        Stats { bytes: self.bytes.load(Relaxed), keys, ..tally.stats.clone() }
    }

    /// Starts to count anew. Requests that are under way stay so.
    pub(super) fn reset(&self) {
        let mut tally = self.lock();
        let under_way = tally.stats.in_flight;
        let stats = Stats { in_flight: under_way, most_in_flight: under_way, ..Stats::default() };
        *tally = Tally { stats, keys: HashMap::new() };
        self.bytes.store(0, Relaxed);
    }

    /// How many requests there have been.
    pub(super) fn requests(&self) -> u64 {
        self.lock().stats.requests
    }

    /// Counts a connection.
    pub(super) fn connection(&self) {
        self.lock().stats.connections += 1;
    }

    /// Counts a request, by its key if one is given.
    pub(super) fn request(&self, key: Option<&str>) -> Ticket<'_> {
        let mut tally = self.lock();
        let stats = &mut tally.stats;
        let number = stats.requests;
        stats.requests += 1;
        stats.in_flight += 1;
        stats.most_in_flight = stats.most_in_flight.max(stats.in_flight);
        let earlier = key.map_or(0, |key| {
            let count = tally.keys.entry(key.to_owned()).or_default();
            *count += 1;
            *count - 1
        });
        Ticket { counters: self, number, earlier }
    }

    /// Counts the head of an answer.
    pub(super) fn answer(&self, status: u16) {
        *self.lock().stats.statuses.entry(status).or_default() += 1;
    }

    /// Counts bytes of a body.
    pub(super) fn bytes(&self, count: u64) {
        self.bytes.fetch_add(count, Relaxed);
    }

    /// Counts a fault.
    pub(super) fn fault(&self, fault: Fault) {
        *self.lock().stats.faults.entry(fault.to_string()).or_default() += 1;
    }

    /// Counts a request of the tail.
    pub(super) fn tail(&self) {
        *self.lock().stats.faults.entry("tail".to_owned()).or_default() += 1;
    }

    /// Counts a fault that could not happen.
    pub(super) fn missed(&self) {
        self.lock().stats.missed += 1;
    }
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Ticket<'a> {
    counters: &'a Counters,
    /// How many requests came before.
    pub(super) number: u64,
    /// How many of those had the same key.
    pub(super) earlier: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.counters.lock().stats.in_flight -= 1;
    }
}
