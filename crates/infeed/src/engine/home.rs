//! What a loader keeps between epochs.

use super::{checkpoint::Position, threads::Engine};
use crate::order::Ledger;
use infeed_core::{Cursor, Hold};
use std::sync::Mutex;

/// What outlives an epoch: the consumer's position, its ledger, and the engine while no run uses it.
#[derive(Debug)]
pub(super) struct Home {
    position: Mutex<Position>,
    pub(super) ledger: Mutex<Ledger>,
    bench: Mutex<Bench>,
}

/// Where the engine is parked between two epochs.
#[derive(Debug)]
struct Bench {
    /// Whether an engine may be parked here; `false` once the loader is dropped.
    open: bool,
    engine: Option<Engine>,
}

impl Home {
    pub(super) fn new(ledger: Ledger) -> Self {
        Home {
            position: Mutex::default(),
            ledger: Mutex::new(ledger),
            bench: Mutex::new(Bench { open: true, engine: None }),
        }
    }

    pub(super) fn stand(&self, at: Position) {
        *self.position.hold() = at;
    }

    pub(super) fn position(&self) -> Position {
        *self.position.hold()
    }

    /// Returns the parked engine if it continues exactly at `at`.
    pub(super) fn take(&self, at: Cursor) -> Option<Engine> {
        let found = self.bench.hold().engine.take()?;
        // The end of an epoch and the start of the next are the same position.
        let next = found.ended && at == Cursor { epoch: found.at.epoch + 1, place: 0 };
        (found.is_here() && (found.at == at || next)).then_some(found)
    }

    /// Parks an engine.
    pub(super) fn keep(&self, engine: Engine) {
        let mut bench = self.bench.hold();
        let old = if bench.open { bench.engine.replace(engine) } else { Some(engine) };
        // Threads are joined without holding the lock.
        drop(bench);
        drop(old);
    }

    pub(super) fn is_warm(&self) -> bool {
        self.bench.hold().engine.is_some()
    }

    /// Stops the parked engine.
    pub(super) fn clear(&self) {
        let old = self.bench.hold().engine.take();
        drop(old);
    }

    /// Stops the parked engine and accepts no other.
    pub(super) fn leave(&self) {
        self.bench.hold().open = false;
        self.clear();
    }
}
