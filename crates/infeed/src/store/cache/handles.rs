//! Files of chunks that stay open: opening one takes as long as reading tens of kilobytes of it.
//!
//! A file that was removed takes its room until it is closed, so only few are open: a sixteenth of what the cache may hold.

use super::object::ChunkId;
use infeed_core::Hold;
use std::{
    collections::HashMap,
    fs::{File, Metadata},
    os::unix::fs::MetadataExt,
    sync::{Arc, Mutex},
};

/// Far below the usual limit of 1,024 open files, which the rest of the process needs too.
const MOST: u64 = 256;
/// One file in so many that fit may be open.
const SHARE: u64 = 16;

/// Open files; the one that was not used for the longest time is closed for the next.
#[derive(Debug)]
pub(super) struct Handles {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<ChunkId, Handle>,
    clock: u64,
}

#[derive(Debug)]
struct Handle {
    file: Arc<File>,
    used: u64,
}

impl Handles {
    /// For a cache of `limit` bytes in chunks of `chunk`.
    pub(super) fn new(limit: u64, chunk: u64) -> Self {
        let most = (limit / chunk.max(1) / SHARE).clamp(1, MOST) as usize;
        Handles { most, table: Mutex::default() }
    }

    /// An open file of a chunk and what is known of it, if there is one and it was not removed.
    pub(super) fn get(&self, id: ChunkId) -> Option<(Arc<File>, Metadata)> {
        let mut table = self.table.hold();
        table.clock += 1;
        let now = table.clock;
        let handle = table.open.get_mut(&id)?;
        handle.used = now;
        let file = Arc::clone(&handle.file);
        drop(table);
        match file.metadata() {
            Ok(data) if data.nlink() > 0 => Some((file, data)),
            _ => {
                self.close(&[id]);
                None
            }
        }
    }

    /// Keeps a file open.
    pub(super) fn put(&self, id: ChunkId, file: File) -> Arc<File> {
        let file = Arc::new(file);
        let mut table = self.table.hold();
        table.clock += 1;
        let handle = Handle { file: Arc::clone(&file), used: table.clock };
        let mut gone = table.open.insert(id, handle);
        if table.open.len() > self.most {
            let oldest = table.open.iter().min_by_key(|(_, handle)| handle.used).map(|(id, _)| *id);
            gone = oldest.and_then(|oldest| table.open.remove(&oldest)).or(gone);
        }
        // Closed without the lock.
        drop(table);
        drop(gone);
        file
    }

    /// Closes the files of chunks that are gone, or are not what they should be.
    pub(super) fn close(&self, ids: &[ChunkId]) {
        let mut table = self.table.hold();
        let gone: Vec<Option<Handle>> = ids.iter().map(|id| table.open.remove(id)).collect();
        drop(table);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_stay_open() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create_new(folder.path().join(name)).unwrap();
        let handles = Handles::new(32 * 100, 100);
        assert!(handles.get((1, 0)).is_none());
        handles.put((1, 0), file("a"));
        handles.put((1, 1), file("b"));
        assert!(handles.get((1, 0)).is_some());
        handles.put((1, 2), file("c"));
        assert!(handles.get((1, 1)).is_none(), "it was used before the other");
        assert!(handles.get((1, 0)).is_some() && handles.get((1, 2)).is_some());
        handles.close(&[(1, 2), (1, 7)]);
        assert!(handles.get((1, 2)).is_none());
    }

    #[test]
    fn files_that_were_removed_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let handles = Handles::new(1000, 100);
        handles.put((1, 0), File::create_new(&path).unwrap());
        assert!(handles.get((1, 0)).is_some());
        std::fs::remove_file(path).unwrap();
        assert!(handles.get((1, 0)).is_none());
        assert!(handles.table.hold().open.is_empty());
    }
}
