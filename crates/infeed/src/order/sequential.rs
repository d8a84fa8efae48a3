//! Rows as they lie.

use infeed_core::Order;
use std::ops::Range;

/// Row 0, row 1, row 2, ...
#[derive(Debug, Clone, Copy)]
pub struct Sequential {
    rows: u64,
}

impl Sequential {
    /// An order of `rows` rows.
    pub fn new(rows: u64) -> Self {
        Sequential { rows }
    }
}

impl Order for Sequential {
    fn places(&self, _epoch: u64) -> u64 {
        self.rows
    }

    fn rows_at(&self, _epoch: u64, places: Range<u64>, into: &mut Vec<u64>) {
        into.extend(places.start.min(self.rows)..places.end.min(self.rows));
    }

    fn describe(&self) -> String {
        "sequential".to_owned()
    }
}
