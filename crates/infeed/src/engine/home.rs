//! What a loader keeps between its epochs.

use super::{checkpoint::Position, threads::Engine};
use crate::order::Ledger;
use infeed_core::{Cursor, Hold};
use std::sync::Mutex;

/// What outlives an epoch: where the consumer stands, its ledger, and the threads while nobody iterates.
#[derive(Debug)]
pub(super) struct Home {
    position: Mutex<Position>,
    pub(super) ledger: Mutex<Ledger>,
    bench: Mutex<Bench>,
}

/// Where an engine rests between two epochs.
#[derive(Debug)]
struct Bench {
    /// Whether one may rest here: not when the loader is gone.
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

    /// The resting engine, if it goes on exactly here.
    pub(super) fn take(&self, at: Cursor) -> Option<Engine> {
        let found = self.bench.hold().engine.take()?;
        // The end of an epoch and the start of the next are the same place.
        let next = found.ended && at == Cursor { epoch: found.at.epoch + 1, place: 0 };
        (found.is_here() && (found.at == at || next)).then_some(found)
    }

    /// Lets an engine rest here.
    pub(super) fn keep(&self, engine: Engine) {
        let mut bench = self.bench.hold();
        let old = if bench.open { bench.engine.replace(engine) } else { Some(engine) };
        // Joined without the lock.
        drop(bench);
        drop(old);
    }

    pub(super) fn is_warm(&self) -> bool {
        self.bench.hold().engine.is_some()
    }

    /// Sends a resting engine away.
    pub(super) fn clear(&self) {
        let old = self.bench.hold().engine.take();
        drop(old);
    }

    /// No engine may rest here any more.
    pub(super) fn leave(&self) {
        self.bench.hold().open = false;
        self.clear();
    }
}
