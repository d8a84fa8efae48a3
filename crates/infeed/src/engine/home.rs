//! What a loader keeps between its epochs.

use super::{checkpoint::Position, threads::Engine};
use crate::order::Ledger;
use infeed_core::{Cursor, Hold};
use std::sync::{Mutex, MutexGuard};

/// What outlives an epoch: where the consumer stands, its ledger, and the threads while nobody iterates.
#[derive(Debug)]
pub(super) struct Home {
    position: Mutex<Position>,
    pub(super) ledger: Mutex<Ledger>,
    engine: Mutex<(bool, Option<Engine>)>,
}

impl Home {
    pub(super) fn new(ledger: Ledger) -> Self {
        Home { position: Mutex::default(), ledger: Mutex::new(ledger), engine: Mutex::new((true, None)) }
    }

    pub(super) fn stand(&self, at: Position) {
        *self.position.hold() = at;
    }

    pub(super) fn position(&self) -> Position {
        *self.position.hold()
    }

    fn engine(&self) -> MutexGuard<'_, (bool, Option<Engine>)> {
        self.engine.hold()
    }

    /// The resting engine, if it goes on exactly here.
    pub(super) fn take(&self, at: Cursor) -> Option<Engine> {
        let found = self.engine().1.take()?;
        // The end of an epoch and the start of the next are the same place.
        let next = found.ended && at == Cursor { epoch: found.at.epoch + 1, place: 0 };
        (found.is_here() && (found.at == at || next)).then_some(found)
    }

    /// Lets an engine rest here.
    pub(super) fn keep(&self, engine: Engine) {
        let mut here = self.engine();
        let old = if here.0 { here.1.replace(engine) } else { Some(engine) };
        // Joined without the lock.
        drop(here);
        drop(old);
    }

    pub(super) fn is_warm(&self) -> bool {
        self.engine().1.is_some()
    }

    /// Sends a resting engine away.
    pub(super) fn clear(&self) {
        let old = self.engine().1.take();
        drop(old);
    }

    /// No engine may rest here any more.
    pub(super) fn leave(&self) {
        self.engine().0 = false;
        self.clear();
    }
}
