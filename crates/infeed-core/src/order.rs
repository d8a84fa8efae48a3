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
pub trait Order: Debug + Send + Sync {
    /// How many places the epoch has.
    fn places(&self, epoch: u64) -> u64;

    /// Appends the rows at these places. Places beyond the end are the caller's mistake and give no rows.
    fn rows_at(&self, epoch: u64, places: Range<u64>, into: &mut Vec<u64>);

    /// What `explain()` says of it.
    fn describe(&self) -> String;
}

/// Comforts over [`Order`].
pub trait OrderExt: Order {
    /// The row at one place, if there is one.
    fn row_at(&self, at: Cursor) -> Option<u64> {
        let mut rows = Vec::with_capacity(1);
        self.rows_at(at.epoch, at.place..at.place + 1, &mut rows);
        rows.pop()
    }
}

impl<O: Order + ?Sized> OrderExt for O {}
