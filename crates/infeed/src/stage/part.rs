//! A file while it is copied: `.NAME.part`, and `.NAME.part.pieces`, which says what of it is done.
//!
//! Whoever copies a file holds the lock of its part (`flock`), so that two processes never copy the same file and a killed
//! one blocks nobody. Pieces are written in any order; each finished one is a record of number and checksum. Another run
//! reads the pieces with a record back, compares them, and copies what is left.

use super::{
    manifest::{Entry, changed_at},
    names::Item,
    pieces::{PIECE, Records, count, sum_at},
    sys,
};
use infeed_core::{Error, Result, Shard, Store, StoreExt, sync::Hold};
use std::{
    fs::{File, TryLockError},
    io,
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Mutex,
};

/// The names of the unfinished copy of a file, and of the records of its pieces.
pub(super) fn own_names(name: &str) -> [String; 2] {
    let (folder, last) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
    [format!("{folder}.{last}.part"), format!("{folder}.{last}.part.pieces")]
}

/// Whether a file name is one of an unfinished copy.
pub(super) fn is_own_name(last: &str) -> bool {
    last.starts_with('.') && (last.ends_with(".part") || last.ends_with(".part.pieces"))
}

/// An unfinished copy that this process has the lock of.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) item: Item,
    file: File,
    path: PathBuf,
    target: PathBuf,
    /// The records, for files of several pieces.
    records: Option<Records>,
    records_path: PathBuf,
    /// Checksums of the pieces that an earlier run finished, if what it wrote is still there.
    known: Vec<Option<u32>>,
    done: Mutex<Done>,
}

/// What became of a piece.
pub(super) struct Piece {
    /// Whether all others are done, too.
    pub(super) last: bool,
    /// Whether it was read from the source.
    pub(super) new: bool,
}

#[derive(Debug)]
struct Done {
    sums: Vec<u32>,
    left: usize,
}

impl Part {
    /// Opens the unfinished copy of a file and takes its lock. `None` if another process has it.
    pub(super) fn claim(folder: &Path, item: &Item) -> Result<Option<Part>> {
        let [path, records_path] = own_names(&item.name).map(|name| folder.join(name));
        let failed = |e| Error::io("open", path.display().to_string(), e);
        let file = loop {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
            let file = match options.open(&path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed)?;
                    options.open(&path).map_err(failed)?
                }
                other => other.map_err(failed)?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(e)) => {
                    return Err(Error::io("lock", path.display().to_string(), e));
                }
            }
            // The process that had the lock may have finished the copy, which takes this name away.
            let (mine, there) = (file.metadata().map_err(failed)?, std::fs::symlink_metadata(&path).ok());
            if there.is_some_and(|there| (there.dev(), there.ino()) == (mine.dev(), mine.ino())) {
                break file;
            }
        };
        let pieces = count(item.shard.size)?;
        let target = folder.join(&item.name);
        let done = Mutex::new(Done { sums: vec![0; pieces], left: pieces });
        let item = item.clone();
        let mut part =
            Part { item, file, path, target, records: None, records_path, known: Vec::new(), done };
        part.recall(pieces).map_err(|e| Error::io("open", part.records_path.display().to_string(), e))?;
        Ok(Some(part))
    }

    /// Finds out which pieces are done, or starts anew.
    fn recall(&mut self, pieces: usize) -> io::Result<()> {
        if pieces > 1 {
            let (records, known) = Records::open(&self.records_path, &self.item, pieces)?;
            self.records = Some(records);
            if let Some(known) = known {
                self.known = known;
                return Ok(());
            }
        }
        self.known = vec![None; pieces];
        // Not for empty files: ext4 writes a file that was cut to nothing to the disk as soon as it is closed.
        if self.file.metadata()?.len() > 0 {
            self.file.set_len(0)?;
        }
        Ok(())
    }

    /// The number of pieces.
    pub(super) fn pieces(&self) -> usize {
        self.known.len()
    }

    /// The bytes of a piece.
    pub(super) fn range(&self, piece: usize) -> Range<u64> {
        let start = piece as u64 * PIECE;
        start..self.item.shard.size.min(start.saturating_add(PIECE))
    }

    /// Announces pieces that are not done.
    pub(super) fn announce(&self, store: &dyn Store, pieces: Range<usize>) {
        let new = pieces.filter(|piece| self.known.get(*piece).is_some_and(Option::is_none));
        let ranges: Vec<Range<u64>> = new.map(|piece| self.range(piece)).collect();
        if !ranges.is_empty() {
            store.will_read(&self.item.shard, &ranges);
        }
    }

    /// Copies a piece, unless an earlier run did.
    pub(super) fn copy(&self, store: &dyn Store, piece: usize) -> Result<Piece> {
        let range = self.range(piece);
        let known = self.known[piece].filter(|sum| self.sum_of(&range).is_ok_and(|now| now == *sum));
        let sum = match known {
            Some(sum) => sum,
            None => {
                let bytes = store.read_one(&self.item.shard, range.clone())?;
                let sum = crc32c::crc32c(&bytes);
                let failed = |e| Error::io("write", self.path.display().to_string(), e);
                self.file.write_all_at(&bytes, range.start).map_err(failed)?;
                if let Some(records) = &self.records {
                    records.add(piece, sum).map_err(failed)?;
                }
                sum
            }
        };
        let mut done = self.done.hold();
        done.sums[piece] = sum;
        done.left -= 1;
        Ok(Piece { last: done.left == 0, new: known.is_none() })
    }

    /// The checksum of what the part has at a range.
    fn sum_of(&self, range: &Range<u64>) -> io::Result<u32> {
        sum_at(&self.file, range)
    }

    /// Whether the source must be looked at again: it can have changed between two reads, and a file of this machine even
    /// during one.
    fn may_have_changed(&self, store: &dyn Store) -> bool {
        self.pieces() > 1 || store.local_path(&self.item.shard.name).is_some()
    }

    /// Checks the whole copy. Returns its entry.
    pub(super) fn check(&self, store: &dyn Store, verify: bool) -> Result<Entry> {
        let (shard, path) = (&self.item.shard, self.path.display().to_string());
        if self.may_have_changed(store) {
            let now = store.stat_one(&shard.name);
            if let Err(error) = now.and_then(|now| same(shard, &now)) {
                // Pieces of two versions must not be put together by the next run.
                self.remove();
                return Err(error);
            }
        }
        let sums = self.done.hold().sums.clone();
        if verify {
            self.file.sync_data().map_err(|e| Error::io("write", &*path, e))?;
            sys::forget(&self.file);
            for (piece, sum) in sums.iter().enumerate() {
                let range = self.range(piece);
                if self.sum_of(&range).map_err(|e| Error::io("read", &*path, e))? != *sum {
                    self.remove();
                    let what = format!(
                        "the bytes that were written from there differ from those of `{}`; the disk or the memory is \
                         faulty",
                        shard.name
                    );
                    return Err(Error::Format { shard: path, offset: range.start, what });
                }
            }
        }
        let data = self.file.metadata().map_err(|e| Error::io("look at", &*path, e))?;
        if data.len() != shard.size {
            self.remove();
            let what =
                format!("it has {} bytes instead of {}; somebody else wrote to it", data.len(), shard.size);
            return Err(Error::Format { shard: path, offset: data.len(), what });
        }
        let whole = sums.iter().enumerate().fold(0, |whole, (piece, sum)| {
            let range = self.range(piece);
            crc32c::crc32c_combine(whole, *sum, (range.end - range.start) as usize)
        });
        Ok(Entry {
            name: self.item.name.clone(),
            source: self.item.source.clone(),
            size: shard.size,
            modified: shard.modified,
            version: shard.version,
            crc32c: format!("{whole:08x}"),
            copied: changed_at(&data),
        })
    }

    /// Gives the copy its name.
    pub(super) fn finish(&self) -> Result<()> {
        let failed = |e| Error::io("write", self.target.display().to_string(), e);
        std::fs::rename(&self.path, &self.target).map_err(failed)?;
        self.forget_records();
        Ok(())
    }

    /// Removes the part: what it has is not wanted.
    pub(super) fn remove(&self) {
        // What is left behind is found to be wrong by the next run.
        let _ = std::fs::remove_file(&self.path);
        self.forget_records();
    }

    fn forget_records(&self) {
        if self.pieces() > 1 {
            let _ = std::fs::remove_file(&self.records_path);
        }
    }
}

/// Compares a source with what it was when the copy began.
fn same(then: &Shard, now: &Shard) -> Result<()> {
    let differs = |then: Option<u64>, now: Option<u64>| then.is_some() && then != now;
    let what = if then.size != now.size {
        format!("it had {} bytes and has {} now", then.size, now.size)
    } else if differs(then.modified, now.modified) || differs(then.version, now.version) {
        "it was written to or replaced".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Changed { path: then.name.to_string(), what })
}
