//! Groups members into rows: adjacent members with the same key are one sample.

use super::{TarIndex, view::HUGE};
use crate::layout::tar::{header::BLOCK, names};
use std::collections::HashMap;

/// Collects members into a [`TarIndex`].
#[derive(Debug, Default)]
pub(super) struct Builder {
    index: TarIndex,
    /// Field numbers by extension as spelled in the tar, so that each spelling is lower-cased once.
    spelled: HashMap<Vec<u8>, u16>,
    /// The latest row with each field: detects a repeated field without scanning the row.
    newest: Vec<u32>,
    /// Whether the last row may get more members.
    open: bool,
    /// The key of a row that was dropped; the rest of it must not become a row of its own.
    dropped: Option<Vec<u8>>,
}

impl Builder {
    /// Adds a regular file; one that belongs to no sample is skipped. The error says why it cannot be added.
    pub(super) fn add(&mut self, name: &[u8], offset: u64, len: u64) -> Result<(), String> {
        if names::is_note(name) {
            return Ok(());
        }
        let Some((key, extension)) = names::split(name) else { return Ok(()) };
        if self.dropped.as_deref() == Some(key) {
            return Ok(());
        }
        self.dropped = None;
        if !(self.open && key == self.last_key()) {
            self.close();
            self.start(key)?;
        }
        let row = self.index.key_ends.len() as u32;
        let id = self.field(extension)?;
        // Rows are counted from one here, so that zero can mean "none".
        if self.newest[usize::from(id)] == row {
            let field = &self.index.names[usize::from(id)];
            return Err(format!("sample `{}` has the field `{field}` twice", key.escape_ascii()));
        }
        self.newest[usize::from(id)] = row;
        let block =
            u32::try_from(offset / BLOCK).map_err(|_| "a shard cannot be larger than 2 TiB".to_owned())?;
        let member = u32::try_from(self.index.ids.len())
            .ok()
            .filter(|n| *n < HUGE)
            .ok_or_else(|| "a shard cannot have 4 billion members".to_owned())?;
        self.index.blocks.push(block);
        self.index.ids.push(id);
        self.index.lens.push(u32::try_from(len).unwrap_or(HUGE));
        if len >= u64::from(HUGE) {
            self.index.huge.push((u64::from(member), len));
        }
        Ok(())
    }

    /// Ends the row: what follows is a new one, even if its key is the same.
    pub(super) fn close(&mut self) {
        if self.open {
            self.index.ends.push(self.index.ids.len() as u32);
            self.open = false;
        }
    }

    /// Records a fault and drops the open row: it may be incomplete.
    pub(super) fn damaged(&mut self, mut what: String) {
        if self.open {
            let key = self.last_key().to_vec();
            what.push_str(&format!("; the sample `{}` is left out", key.escape_ascii()));
            let first = self.index.ends.last().copied().unwrap_or(0);
            self.index.blocks.truncate(first as usize);
            self.index.lens.truncate(first as usize);
            self.index.ids.truncate(first as usize);
            self.index.huge.retain(|(member, _)| *member < u64::from(first));
            self.index.keys.truncate(self.index.keys.len() - key.len());
            self.index.key_ends.pop();
            // The next row reuses the number of this one.
            let row = self.index.key_ends.len() as u32 + 1;
            self.newest.iter_mut().filter(|n| **n == row).for_each(|n| *n = 0);
            self.dropped = Some(key);
            self.open = false;
        }
        self.note(what);
    }

    /// Records a fault that affects no row.
    pub(super) fn note(&mut self, what: String) {
        self.index.damage.push(what);
    }

    /// Returns the finished index.
    pub(super) fn finish(mut self) -> TarIndex {
        self.close();
        let index = &mut self.index;
        // Fields are in the order of the first row that has them, which depends on the shard; sorted, they are the
        // same for every shard of a data set.
        let mut order: Vec<u16> = (0..index.names.len() as u16).collect();
        order.sort_by(|a, b| index.names[usize::from(*a)].cmp(&index.names[usize::from(*b)]));
        let mut place = vec![0u16; order.len()];
        for (new, old) in order.iter().enumerate() {
            place[usize::from(*old)] = new as u16;
        }
        index.ids.iter_mut().for_each(|id| *id = place[usize::from(*id)]);
        index.names.sort();
        index.blocks.shrink_to_fit();
        index.lens.shrink_to_fit();
        index.ids.shrink_to_fit();
        index.ends.shrink_to_fit();
        index.keys.shrink_to_fit();
        index.key_ends.shrink_to_fit();
        self.index
    }

    fn start(&mut self, key: &[u8]) -> Result<(), String> {
        let end = u32::try_from(self.index.keys.len() + key.len())
            .map_err(|_| "the keys of a shard cannot take more than 4 GiB".to_owned())?;
        self.index.keys.extend_from_slice(key);
        self.index.key_ends.push(end);
        self.open = true;
        Ok(())
    }

    fn last_key(&self) -> &[u8] {
        let before = self.index.key_ends.iter().rev().nth(1).map_or(0, |end| *end as usize);
        &self.index.keys[before..]
    }

    /// Returns the number of a field, assigning one if it is new.
    fn field(&mut self, extension: &[u8]) -> Result<u16, String> {
        if let Some(id) = self.spelled.get(extension) {
            return Ok(*id);
        }
        let name = String::from_utf8_lossy(extension).to_lowercase();
        let id = match self.index.names.iter().position(|n| **n == *name) {
            Some(place) => place as u16,
            None => {
                let id = u16::try_from(self.newest.len()).map_err(|_| {
                    "more than 65,536 different extensions: are the keys written with dots in them?"
                        .to_owned()
                })?;
                self.index.names.push(name.into());
                self.newest.push(0);
                id
            }
        };
        self.spelled.insert(extension.to_vec(), id);
        Ok(id)
    }
}
