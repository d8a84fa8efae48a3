//! Indices of formats that make one per shard.

use infeed_core::{Index, Indices, Sums, format::Fields};
use std::sync::Arc;

/// A list of indices.
#[derive(Debug)]
pub(super) struct OneByOne {
    indices: Vec<Arc<dyn Index>>,
    rows: Sums,
}

impl OneByOne {
    pub(super) fn new(indices: Vec<Arc<dyn Index>>) -> Self {
        let rows = indices.iter().map(|index| index.rows()).collect();
        OneByOne { indices, rows }
    }
}

impl Indices for OneByOne {
    fn rows(&self) -> &Sums {
        &self.rows
    }

    fn lend(&self, shard: usize, with: &mut dyn FnMut(&dyn Index)) {
        if let Some(index) = self.indices.get(shard) {
            with(&**index);
        }
    }

    fn fields(&self) -> Vec<(usize, Fields)> {
        self.indices.iter().map(|index| index.fields()).enumerate().collect()
    }

    fn damage(&self) -> Vec<(usize, String)> {
        let of = |(shard, index): (usize, &Arc<dyn Index>)| {
            let notes = index.damage().iter().map(|note| (shard, note.clone()));
            notes.collect::<Vec<_>>()
        };
        self.indices.iter().enumerate().flat_map(of).collect()
    }
}
