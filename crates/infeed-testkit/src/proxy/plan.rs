//! What happens to one request: a function of the faults, the seed and the address of the request.

use super::options::{Address, Faults};
use crate::random::Random;
use std::{fmt, time::Duration};

/// A way in which a request goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    EarlyReset,
    Reset,
    Stall,
    Truncate,
    Error(u16),
    WrongBytes,
    WrongHead,
    Whole,
    Corrupt,
}

impl Fault {
    /// Whether it needs a request for a part of an object.
    pub(super) fn needs_range(self) -> bool {
        matches!(self, Fault::WrongBytes | Fault::WrongHead | Fault::Whole)
    }

    /// Whether it happens inside a body.
    pub(super) fn needs_body(self) -> bool {
        matches!(self, Fault::Reset | Fault::Stall | Fault::Truncate | Fault::Corrupt)
    }
}

/// The name that options and counters have.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::EarlyReset => "early_resets",
            Fault::Reset => "resets",
            Fault::Stall => "stalls",
            Fault::Truncate => "truncated",
            Fault::WrongBytes => "wrong_bytes",
            Fault::WrongHead => "wrong_heads",
            Fault::Whole => "whole",
            Fault::Corrupt => "corrupted",
            Fault::Error(status) => return write!(f, "errors_{status}"),
        })
    }
}

/// What happens to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// How long it waits before it goes to the server.
    pub(super) delay: Duration,
    /// Whether it belongs to the tail.
    pub(super) slow: bool,
    /// What goes wrong.
    pub(super) fault: Option<Fault>,
    /// Where in the body: a share, below 1.
    pub(super) place: f64,
}

impl Plan {
    /// Draws the fate of the request with this address.
    pub(super) fn new(faults: &Faults, address: u64) -> Self {
        let mut random = Random::new(faults.seed, address);
        // Always the same draws in the same order: one rate that changes does not change what others hit.
        let [slow, fault, place] = [(); 3].map(|()| f64::from(random.unit()));
        let slow = slow < faults.tail.rate;
        let delay = faults.latency_ms + if slow { faults.tail.ms } else { 0.0 };
        let mut below = 0.0;
        let chosen = faults.rates().into_iter().find(|(_, rate)| {
            below += rate;
            fault < below
        });
        Plan {
            delay: Duration::from_secs_f64(delay / 1e3),
            slow,
            fault: chosen.map(|(fault, _)| fault),
            place,
        }
    }
}

/// The address of a request: `number` requests came before it, `earlier` of them with the same key.
pub(super) fn address(kind: Address, number: u64, key: &str, earlier: u64) -> u64 {
    match kind {
        Address::Number => number,
        // FNV-1a, because the standard library's hash may change with its version.
        Address::Key => {
            let hash = key.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
            });
            hash.wrapping_add(earlier.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        }
    }
}
