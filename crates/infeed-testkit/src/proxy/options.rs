//! What a proxy does: where it listens, and which faults it injects.

use super::plan::Fault;
use infeed_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr, ToSocketAddrs},
};

/// Where a proxy listens, which server it stands before, and its first faults.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server, as `HOST:PORT`. It must be on this machine.
    pub to: String,
    /// The address to listen on, which must be a loopback address; port 0 is any free port.
    pub listen: SocketAddr,
    /// What to inject.
    pub faults: Faults,
}

impl Options {
    /// A proxy before `to` (`HOST:PORT`) on a free port, without faults.
    pub fn new(to: impl Into<String>) -> Self {
        Options { to: to.into(), listen: (Ipv4Addr::LOCALHOST, 0).into(), faults: Faults::default() }
    }

    /// The same with these faults.
    pub fn faults(self, faults: Faults) -> Self {
        Options { faults, ..self }
    }

    /// The address of the server, after checking that both sides are on this machine.
    pub(super) fn checked(&self) -> Result<SocketAddr> {
        self.faults.check()?;
        if !self.listen.ip().is_loopback() {
            return Err(bad(
                "listen",
                format!("{} is not a loopback address: use 127.0.0.1", self.listen.ip()),
            ));
        }
        let found = self.to.to_socket_addrs();
        let mut found =
            found.map_err(|e| bad("to", format!("{:?} is no HOST:PORT that can be found: {e}", self.to)))?;
        found.find(|address| address.ip().is_loopback()).ok_or_else(|| {
            bad("to", format!("{:?} is not on this machine: the proxy is for tests alone", self.to))
        })
    }
}

/// What goes wrong, and how often. Rates are probabilities per request, from 0 to 1; at most one of the faults from
/// `early_resets` on happens to a request, so that their sum must not exceed 1.
///
/// As JSON, fields that are left out have their defaults: no delays, no limits, no faults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Which requests are hit.
    pub seed: u64,
    /// Milliseconds before every request goes on to the server.
    pub latency_ms: f64,
    /// Some requests that take longer.
    pub tail: Tail,
    /// Bytes of bodies per second, of all connections together.
    pub bandwidth: Option<f64>,
    /// Bytes of bodies per second, of each connection.
    pub connection_bandwidth: Option<f64>,
    /// The connection is reset before the answer.
    pub early_resets: f64,
    /// The connection is reset in the middle of the body.
    pub resets: f64,
    /// The body stops in the middle, and goes on later.
    pub stalls: Stalls,
    /// The connection is closed in order, before the body is complete.
    pub truncated: f64,
    /// Answers of the proxy itself instead of the server's: rates by status (400 to 599).
    pub errors: BTreeMap<u16, f64>,
    /// Bytes of another range under a head that claims the range asked for.
    pub wrong_bytes: f64,
    /// The right bytes under a head that names another range.
    pub wrong_heads: f64,
    /// 200 and the whole object instead of 206 and the range.
    pub whole: f64,
    /// One byte of the body is changed.
    pub corrupted: f64,
    /// So many requests are spared after the faults were set.
    pub skip: u64,
    /// At most so many faults, counted from when they were set. Delays do not count.
    pub limit: Option<u64>,
    /// Faults hit only requests whose key (`GET /path?query bytes=0-99`) contains this. Delays are for all.
    pub only: Option<String>,
    /// What decides over the fate of a request beside the seed.
    pub address: Address,
    /// Count requests by key. Takes memory for every key.
    pub keys: bool,
}

/// What the random numbers of a request are drawn from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Address {
    /// How many requests came before it.
    #[default]
    Number,
    /// Its key, and how many requests with that key came before it: the same whatever order requests arrive in.
    Key,
}

/// A share of requests that take longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// The share.
    pub rate: f64,
    /// Milliseconds in addition to the latency.
    pub ms: f64,
}

/// A share of bodies that stop in the middle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stalls {
    /// The share.
    pub rate: f64,
    /// How long they stop.
    pub seconds: f64,
}

/// Longest delay in seconds: more is a mistake, and could overflow time arithmetic.
const LONGEST: f64 = 86_400.0;

impl Faults {
    /// Reads the JSON of a request, or of a command line.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let faults: Faults = serde_json::from_slice(text).map_err(|e| bad("faults", e.to_string()))?;
        faults.check()?;
        Ok(faults)
    }

    /// Checks all numbers.
    pub(super) fn check(&self) -> Result<()> {
        let mut rates: Vec<(String, f64)> =
            self.rates().iter().map(|(fault, rate)| (fault.to_string(), *rate)).collect();
        let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
        rates.push(("tail".to_owned(), self.tail.rate));
        if let Some((name, rate)) = rates.iter().find(|(_, rate)| !(0.0..=1.0).contains(rate)) {
            return Err(bad(name, format!("{rate} is no probability: use a number from 0 to 1")));
        }
        if sum > 1.0 + 1e-9 {
            return Err(bad(
                "faults",
                format!("the rates add up to {sum}: one request has one fault at most"),
            ));
        }
        let delays = [
            ("latency_ms", self.latency_ms / 1e3),
            ("tail", self.tail.ms / 1e3),
            ("stalls", self.stalls.seconds),
        ];
        for (name, seconds) in delays {
            if !(0.0..=LONGEST).contains(&seconds) {
                return Err(bad(name, format!("a delay of {seconds} s: use 0 to {LONGEST} s")));
            }
        }
        for rate in [self.bandwidth, self.connection_bandwidth].into_iter().flatten() {
            if !(rate.is_finite() && rate >= 1000.0) {
                return Err(bad("bandwidth", format!("{rate} bytes per second: use at least 1000")));
            }
        }
        match self.errors.keys().find(|status| !(400..600).contains(*status)) {
            Some(status) => Err(bad("errors", format!("{status} is no status of an error: use 400 to 599"))),
            None => Ok(()),
        }
    }

    /// The rate of every fault, in the order in which they are drawn.
    pub(super) fn rates(&self) -> Vec<(Fault, f64)> {
        let errors = self.errors.iter().map(|(status, rate)| (Fault::Error(*status), *rate));
        let others = [
            (Fault::EarlyReset, self.early_resets),
            (Fault::Reset, self.resets),
            (Fault::Stall, self.stalls.rate),
            (Fault::Truncate, self.truncated),
            (Fault::WrongBytes, self.wrong_bytes),
            (Fault::WrongHead, self.wrong_heads),
            (Fault::Whole, self.whole),
            (Fault::Corrupt, self.corrupted),
        ];
        others.into_iter().chain(errors).collect()
    }
}

fn bad(field: &str, problem: String) -> Error {
    Error::argument(format!("proxy: {field}: {problem}"))
}
