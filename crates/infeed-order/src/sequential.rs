//! Rows in storage order.

use infeed_core::{Order, Recurrence};
use std::sync::Arc;

/// Row 0, row 1, row 2, ... of a source, or of a part of it that starts at a later row.
#[derive(Debug, Clone)]
pub struct Sequential {
    first: u64,
    rows: u64,
    blocks: Arc<[u64]>,
}

impl Sequential {
    /// Creates an order over rows stored in blocks of these lengths (shards, row groups), beginning with row `first`.
    pub fn new(first: u64, blocks: impl Into<Arc<[u64]>>) -> Self {
        let blocks = blocks.into();
        Sequential { first, rows: blocks.iter().sum(), blocks }
    }

    /// Creates an order of `rows` rows in one block, for tests and simple sources.
    pub fn of(rows: u64) -> Self {
        Sequential::new(0, [rows])
    }
}

impl Order for Sequential {
    fn places(&self) -> u64 {
        self.rows
    }

    fn resolve(&self, _epoch: u64, places: &mut [u64]) {
        if self.first > 0 {
            places.iter_mut().for_each(|place| *place = place.saturating_add(self.first));
        }
    }

    fn blocks(&self) -> Option<Vec<u64>> {
        Some(self.blocks.to_vec())
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn recurrence(&self) -> Recurrence {
        Recurrence::Once
    }

    fn describe(&self) -> String {
        format!("{} rows as they lie", self.rows)
    }
}
