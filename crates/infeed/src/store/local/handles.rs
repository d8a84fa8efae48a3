//! A cache of open files.

use infeed_core::{Hold, Result, Shard};
use std::{
    collections::HashMap,
    fs::File,
    sync::{Arc, Mutex},
};

/// Far below the usual limit of 1,024 open files, which the rest of the process needs too.
const MOST: usize = 256;

/// Open files by name; the least recently used is evicted.
#[derive(Debug)]
pub(super) struct Handles {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<Arc<str>, Handle>,
    clock: u64,
}

#[derive(Debug)]
struct Handle {
    file: Arc<File>,
    /// Size and time as listed when it was opened: a replaced shard must not be read through the old file.
    size: u64,
    modified: Option<u64>,
    version: Option<u64>,
    used: u64,
}

impl Handles {
    pub(super) fn new() -> Self {
        Handles { table: Mutex::default() }
    }

    /// Returns the open file of a shard, opening it with `open` if needed.
    pub(super) fn get(&self, shard: &Shard, open: impl FnOnce() -> Result<File>) -> Result<Arc<File>> {
        if let Some(file) = self.known(shard) {
            return Ok(file);
        }
        // Opened without holding the lock: on a network file system this is slow and would block every other reader.
        let file = Arc::new(open()?);
        let mut table = self.lock();
        table.clock += 1;
        let handle = Handle {
            file: Arc::clone(&file),
            size: shard.size,
            modified: shard.modified,
            version: shard.version,
            used: table.clock,
        };
        table.open.insert(Arc::clone(&shard.name), handle);
        if table.open.len() > MOST {
            let oldest = table.open.iter().min_by_key(|(_, h)| h.used).map(|(name, _)| Arc::clone(name));
            oldest.and_then(|name| table.open.remove(&name));
        }
        Ok(file)
    }

    /// Forgets the open file of a shard, so that the next read opens it anew.
    pub(super) fn drop(&self, shard: &Shard) {
        self.lock().open.remove(&shard.name);
    }

    fn known(&self, shard: &Shard) -> Option<Arc<File>> {
        let mut table = self.lock();
        table.clock += 1;
        let now = table.clock;
        let handle = table.open.get_mut(&shard.name)?;
        if (handle.size, handle.modified, handle.version) != (shard.size, shard.modified, shard.version) {
            return None;
        }
        handle.used = now;
        Some(Arc::clone(&handle.file))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.hold()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().open.len()
    }
}
