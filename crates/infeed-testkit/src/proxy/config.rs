//! The faults in force, and what all connections share.

use super::{
    counters::{Counters, Ticket},
    life::Life,
    options::{Address, Faults},
    pace::Pace,
    plan::{Plan, address},
    server::Server,
};
use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// What all connections of a proxy share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) server: Server,
    pub(super) counters: Counters,
    pub(super) life: Arc<Life>,
    config: RwLock<Arc<Config>>,
}

impl Shared {
    pub(super) fn new(server: Server, life: Arc<Life>, faults: Faults) -> Self {
        let config = RwLock::new(Arc::new(Config::new(faults, 0)));
        Shared { server, counters: Counters::default(), life, config }
    }

    /// The faults in force.
    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets faults, which must have been checked, for the requests from now on.
    pub(super) fn set(&self, faults: Faults) {
        let config = Config::new(faults, self.counters.requests());
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    /// Counts requests and faults anew, as if the proxy had just been started.
    pub(super) fn reset(&self) {
        self.counters.reset();
        self.set(self.config().faults.clone());
    }
}

/// Faults in force.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) faults: Faults,
    /// The link of all connections together.
    pub(super) total: Option<Pace>,
    /// The number of the first request under them.
    first: u64,
    /// How many faults have been drawn.
    drawn: AtomicU64,
}

impl Config {
    fn new(faults: Faults, first: u64) -> Self {
        let total = faults.bandwidth.map(Pace::new);
        Config { faults, total, first, drawn: AtomicU64::new(0) }
    }

    /// Whether requests are counted by key.
    pub(super) fn counts_keys(&self) -> bool {
        self.faults.keys || self.faults.address == Address::Key
    }

    /// What happens to a request.
    pub(super) fn plan(&self, ticket: &Ticket<'_>, key: &str) -> Plan {
        let faults = &self.faults;
        let mut plan = Plan::new(faults, address(faults.address, ticket.number, key, ticket.earlier));
        let spared = ticket.number < self.first.saturating_add(faults.skip)
            || faults.only.as_ref().is_some_and(|part| !key.contains(part.as_str()));
        if plan.fault.is_some() && (spared || !self.draw()) {
            plan.fault = None;
        }
        plan
    }

    /// Takes one of the faults that are allowed.
    fn draw(&self) -> bool {
        let limit = self.faults.limit.unwrap_or(u64::MAX);
        self.drawn.fetch_update(Relaxed, Relaxed, |drawn| (drawn < limit).then_some(drawn + 1)).is_ok()
    }

    /// A fault that was drawn could not happen.
    pub(super) fn give_back(&self) {
        self.drawn.fetch_sub(1, Relaxed);
    }

    /// How long a body stops.
    pub(super) fn stall(&self) -> Duration {
        Duration::from_secs_f64(self.faults.stalls.seconds)
    }

    /// The link of one connection.
    pub(super) fn link(&self) -> Option<Pace> {
        self.faults.connection_bandwidth.map(Pace::new)
    }
}
