//! Orders: which row stands at which place of an epoch, as a pure function.

use serde::{Deserialize, Serialize};
use std::{fmt::Debug, ops::Range};

/// A position in the endless sequence of samples: all that a checkpoint needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// Epoch.
    pub epoch: u64,
    /// Place inside the epoch.
    pub place: u64,
}

/// Which rows come back in the next epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recurrence {
    /// Every epoch has the same rows, each once.
    Once,
    /// Every epoch has the same rows, some of them more than once.
    Same,
    /// Every epoch has rows of its own.
    Own,
}

/// An order of rows. Pure: the same arguments always give the same result, on any thread.
///
/// Orders are built on one another: each maps its places to places of the one below, and the lowest gives rows.
/// [`Order::resolve`] works in place on a whole batch of places, so a level costs one call per batch.
pub trait Order: Debug + Send + Sync {
    /// Returns the number of places of an epoch. Every epoch has the same number.
    fn places(&self) -> u64;

    /// Replaces each place by the row that stands there, in the given epoch.
    ///
    /// Places at or beyond the end are a caller's bug; they may give any row, but must not panic.
    fn resolve(&self, epoch: u64, places: &mut [u64]);

    /// Returns the lengths of the runs of places that are adjacent in storage (shards, row groups), in order, if the
    /// order follows storage. They add up to [`Order::places`]. `None` if neighbours in the order are not neighbours
    /// on disk.
    fn blocks(&self) -> Option<Vec<u64>> {
        None
    }

    /// Whether every epoch is the same.
    fn is_fixed(&self) -> bool {
        false
    }

    /// Which rows come back in the next epoch.
    fn recurrence(&self) -> Recurrence {
        if self.is_fixed() { Recurrence::Same } else { Recurrence::Own }
    }

    /// Describes it for `explain()`: one line that includes the orders below it.
    fn describe(&self) -> String;
}

/// Convenience methods for [`Order`].
pub trait OrderExt: Order {
    /// Returns the rows at these places; places beyond the end are left out.
    fn rows(&self, epoch: u64, places: Range<u64>) -> Vec<u64> {
        let end = places.end.min(self.places());
        let mut rows: Vec<u64> = (places.start.min(end)..end).collect();
        self.resolve(epoch, &mut rows);
        rows
    }

    /// Returns the row at one place, if there is one.
    fn row_at(&self, at: Cursor) -> Option<u64> {
        self.rows(at.epoch, at.place..at.place.saturating_add(1)).pop()
    }
}

impl<O: Order + ?Sized> OrderExt for O {}

impl<O: Order + ?Sized> Order for std::sync::Arc<O> {
    fn places(&self) -> u64 {
        (**self).places()
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        (**self).resolve(epoch, places);
    }

    fn blocks(&self) -> Option<Vec<u64>> {
        (**self).blocks()
    }

    fn is_fixed(&self) -> bool {
        (**self).is_fixed()
    }

    fn recurrence(&self) -> Recurrence {
        (**self).recurrence()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}
