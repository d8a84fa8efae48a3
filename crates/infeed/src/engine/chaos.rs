//! Chaos: pauses and read faults on purpose, for users who want to know whether their training survives them.
//!
//! What happens is a function of seed, epoch, row and attempt, so that a run can be repeated. Faults are of the kind that passes and
//! take the way of real ones (`store::retry`): no row is lost, and batches, order and states are those of a run without chaos.

use super::{state::Piece, threads::Shared};
use crate::store::retry;
use infeed_core::{Error, Rng, signals};
use std::{io, sync::atomic::Ordering::Relaxed, time::Duration};

/// The address of the random numbers that say what happens to a row.
const ROW: u64 = 0x0063_6861_6f73;
/// The address of those for the pulls of a stream, whose rows are not known before.
const PULL: u64 = 0x7075_6c6c;
/// How often a row is read late, and how often its reads fail at first.
const RATE: f64 = 1.0 / 32.0;
/// The longest pause, in milliseconds.
const LONGEST: u64 = 20;
/// Most reads of a row that fail in a row: far fewer than the tries that a read has.
const MOST_FAULTS: u64 = 2;

/// What happens to one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mishap {
    pause: Option<Duration>,
    /// How many attempts fail.
    faults: u64,
}

impl Mishap {
    fn at(seed: u64, epoch: u64, row: u64, address: u64) -> Self {
        let mut rng = Rng::at(seed, epoch, row, address);
        let pause = rng.chance(RATE).then(|| Duration::from_millis(rng.below(LONGEST + 1)));
        let faults = if rng.chance(RATE) { 1 + rng.below(MOST_FAULTS) } else { 0 };
        Mishap { pause, faults }
    }
}

/// Disturbs the read of a piece, before it is read. Does nothing without chaos.
pub(super) fn disturb(shared: &Shared, piece: &Piece) {
    if let Some(seed) = shared.chaos {
        suffer(shared, piece.rows.iter().map(|row| Mishap::at(seed, piece.epoch, *row, ROW)));
    }
}

/// Disturbs a pull from a stream, before it happens. Does nothing without chaos.
pub(super) fn disturb_pull(shared: &Shared, number: u64) {
    if let Some(seed) = shared.chaos {
        suffer(shared, std::iter::once(Mishap::at(seed, 0, number, PULL)));
    }
}

/// Lets the mishaps of rows that are read together happen. Each is counted, so that counts do not depend on how rows are cut into
/// pieces; the piece takes as long, and fails as often, as the worst of its rows.
fn suffer(shared: &Shared, mishaps: impl Iterator<Item = Mishap>) {
    let mut worst = Mishap::default();
    let (mut delays, mut faults) = (0, 0);
    for mishap in mishaps {
        delays += u64::from(mishap.pause.is_some());
        faults += mishap.faults;
        worst = Mishap { pause: worst.pause.max(mishap.pause), faults: worst.faults.max(mishap.faults) };
    }
    let counters = &shared.trace.chaos;
    counters.delays.fetch_add(delays, Relaxed);
    counters.faults.fetch_add(faults, Relaxed);
    if let Some(pause) = worst.pause {
        signals::pause(pause);
    }
    let mut attempt = 0;
    let tried = retry(|| {
        attempt += 1;
        if attempt > worst.faults {
            return Ok(());
        }
        let fault = io::Error::new(io::ErrorKind::ConnectionReset, "injected by chaos");
        Err(Error::io("read", "a row", fault))
    });
    // It fails only when the run is over, and then nobody waits for the rows.
    drop(tried);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mishaps_are_a_function_of_their_address() {
        let of = |seed, epoch| (0..4096).map(move |row| Mishap::at(seed, epoch, row, ROW));
        assert!(of(7, 0).eq(of(7, 0)));
        assert!(!of(7, 0).eq(of(8, 0)) && !of(7, 0).eq(of(7, 1)));
        let (late, failing) =
            (of(7, 0).filter(|m| m.pause.is_some()).count(), of(7, 0).filter(|m| m.faults > 0).count());
        assert!((64..256).contains(&late) && (64..256).contains(&failing), "{late} {failing}");
        assert!(of(7, 0).all(|m| m.faults <= MOST_FAULTS && m.pause.is_none_or(|p| p.as_millis() <= 20)));
    }
}
