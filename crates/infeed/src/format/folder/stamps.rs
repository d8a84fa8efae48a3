//! Stamps of files: what a cache of samples knows them by.

use super::FolderSource;
use infeed_core::{Hold, Stamp, StoreExt};
use std::{collections::HashMap, sync::Mutex};

/// Stamps of files that are far away, by row.
pub(super) type Known = Mutex<HashMap<u64, Stamp>>;

impl FolderSource {
    /// Returns the stamp of a row, with the content of its file if that is `read`.
    pub(super) fn stamp(&self, row: u64, read: bool) -> Option<u128> {
        let stamp = if read { self.file_stamp(row)? } else { Stamp::default().text(&self.file(row).ok()?) };
        Some(stamp.number(self.label(row).map_or(u64::MAX, |label| label as u64)).get())
    }

    /// Files are looked up each time, as when they are read: one that was replaced is another. Far away, where that takes long,
    /// once.
    fn file_stamp(&self, row: u64) -> Option<Stamp> {
        let far = self.store.room_ahead().is_some();
        if let Some(known) = far.then(|| self.stamps.hold().get(&row).copied()).flatten() {
            return Some(known);
        }
        let stamp = Stamp::of(&self.store.stat_one(&self.file(row).ok()?).ok()?)?;
        if far {
            self.stamps.hold().insert(row, stamp);
        }
        Some(stamp)
    }
}
