//! Which row stands at which place of an epoch: a pure function.

use serde::{Deserialize, Serialize};
use std::{fmt::Debug, ops::Range};

/// A place in the endless sequence of samples: the whole checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// Epoch.
    pub epoch: u64,
    /// Place inside the epoch.
    pub place: u64,
}

/// An order of rows. Pure: the same question always has the same answer, whoever asks, on whatever thread.
///
/// Orders are built on one another: each turns its places into places of the one below, and the lowest gives rows.
/// That is why [`Order::resolve`] works in place on a whole batch of places: a level costs one call per batch.
pub trait Order: Debug + Send + Sync {
    /// How many places an epoch has. Every epoch has the same number.
    fn places(&self) -> u64;

    /// Replaces each place by the row that stands there, in the given epoch.
    ///
    /// Places at or beyond the end are the caller's mistake; they may give any row, but never a panic.
    fn resolve(&self, epoch: u64, places: &mut [u64]);

    /// The lengths of the runs of places that lie together in storage (shards, row groups), in order, where the order
    /// follows storage. They add up to [`Order::places`]. `None` when neighbours in the order are no neighbours on disk.
    fn blocks(&self) -> Option<Vec<u64>> {
        None
    }

    /// Whether every epoch is the same.
    fn is_fixed(&self) -> bool {
        false
    }

    /// What `explain()` says of it: one line that includes the orders below it.
    fn describe(&self) -> String;
}

/// Comforts over [`Order`].
pub trait OrderExt: Order {
    /// The rows at these places; places beyond the end give none.
    fn rows(&self, epoch: u64, places: Range<u64>) -> Vec<u64> {
        let end = places.end.min(self.places());
        let mut rows: Vec<u64> = (places.start.min(end)..end).collect();
        self.resolve(epoch, &mut rows);
        rows
    }

    /// The row at one place, if there is one.
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

    fn describe(&self) -> String {
        (**self).describe()
    }
}
