//! The compact index of one tar: ten bytes per field of each row, and the key.

use super::view::View;
use infeed_core::{Bytes, FieldSpec, Index, Record, Result};
use std::{ops::Range, sync::Arc};

/// The location of every field of every row. One array per property: a million small structs, with padding and
/// pointers, would be several times as large. `View` describes each array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TarIndex {
    pub(super) names: Vec<Arc<str>>,
    pub(super) ends: Vec<u32>,
    pub(super) blocks: Vec<u32>,
    pub(super) lens: Vec<u32>,
    pub(super) huge: Vec<(u64, u64)>,
    pub(super) ids: Vec<u16>,
    pub(super) keys: Vec<u8>,
    pub(super) key_ends: Vec<u32>,
    pub(super) damage: Vec<String>,
}

impl TarIndex {
    /// Bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let numbers = self.ends.len() + self.blocks.len() + self.lens.len() + self.key_ends.len();
        numbers * 4 + self.ids.len() * 2 + self.huge.len() * 16 + self.keys.len()
    }

    /// Borrows the arrays.
    pub(super) fn view(&self) -> View<'_> {
        View {
            names: &self.names,
            ends: &self.ends,
            blocks: &self.blocks,
            lens: &self.lens,
            huge: &self.huge,
            first: 0,
            ids: &self.ids,
            keys: &self.keys,
            key_ends: &self.key_ends,
            damage: &self.damage,
        }
    }
}

impl Index for TarIndex {
    fn damage(&self) -> &[String] {
        &self.damage
    }

    fn rows(&self) -> u64 {
        self.view().rows()
    }

    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)> {
        self.view().fields()
    }

    fn key(&self, row: u64) -> String {
        self.view().key(row)
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        self.view().row_bytes(row, fields)
    }

    fn ranges(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Range<u64>>> {
        self.view().ranges(rows, fields)
    }

    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>> {
        self.view().cut(rows, fields, bytes)
    }
}
