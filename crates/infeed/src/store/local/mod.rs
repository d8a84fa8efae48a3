//! Files of this machine, or of what is mounted on it.

mod advise;
mod below;
pub(super) mod guard;
mod handles;
mod look;
mod map;
mod missing;
mod mounts;
mod walk;

use crate::store::StoreEntry;
use bytes::Bytes;
use handles::Handles;
use infeed_core::pool::Pool;
use infeed_core::{Error, Found, Result, Shard, Store, signals};
use std::{
    fs::{File, Metadata},
    io::{self, ErrorKind, Read},
    ops::Range,
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use look::look_all;
pub(crate) use missing::missing;

/// Files up to this size that are read whole are opened, read and closed: a folder of a million images would otherwise
/// evict the shards from the cache of open files.
const SMALL: u64 = 16 << 20;
/// Bytes of unused buffers that a store made by [`LocalStore::new`] keeps.
const KEPT: usize = 64 << 20;

/// The entry of this store.
pub(super) const ENTRY: StoreEntry = StoreEntry {
    name: "local",
    about: "files of this machine and of what is mounted on it: `PATH`, `file:PATH`, `file:///PATH`",
    schemes: &["file"],
    open: |_| Ok(Arc::new(LocalStore::new())),
};

/// Reads files by `pread`, which needs no lock between threads, into buffers of a [`Pool`].
#[derive(Debug)]
pub struct LocalStore {
    handles: Handles,
    pool: Arc<Pool>,
}

impl LocalStore {
    /// Creates a store with a pool of its own.
    pub fn new() -> Self {
        Self::with_pool(Pool::new(KEPT))
    }

    /// Creates a store that takes its buffers from `pool`.
    pub fn with_pool(pool: Arc<Pool>) -> Self {
        LocalStore { handles: Handles::new(), pool }
    }

    /// Returns the open file of a shard. Small files that are read whole are not kept open.
    fn open(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Arc<File>> {
        let whole = shard.size <= SMALL && matches!(ranges, [only] if *only == (0..shard.size));
        if whole { open(shard).map(Arc::new) } else { self.handles.get(shard, || open(shard)) }
    }
}

impl Default for LocalStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for LocalStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        let names = walk::with_prefix(prefix)?;
        // A file that vanishes between the walk and this lookup is not listed.
        let found = look_all(&names, |name| match stat(name) {
            Err(Error::NotFound { .. }) => Ok(None),
            other => other.map(Some),
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        look_all(names, stat)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let file = self.open(shard, ranges)?;
        let read: Result<Vec<Bytes>> =
            ranges.iter().map(|range| read(&file, shard, range, &self.pool)).collect();
        if read.is_err() {
            // The next try must not use this handle again: the server of a network file system may have forgotten it.
            self.handles.drop(shard);
        }
        read
    }

    fn read_into(&self, shard: &Shard, start: u64, out: &mut [u8]) -> Result<()> {
        let range = start..start.saturating_add(out.len() as u64);
        let file = self.open(shard, std::slice::from_ref(&range))?;
        let read = read_at(&file, shard, &range, out);
        if read.is_err() {
            self.handles.drop(shard);
        }
        read
    }

    fn read_below(&self, names: &[String], folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        let folders = below::Folders::new(folders);
        names.iter().map(|name| folders.read(name, limit, &self.pool)).collect()
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        let file = open(shard)?;
        map::map(&file, &shard.name, shard.size).map(Some).map_err(|e| failed("map", &shard.name, e))
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        let mut file = open(shard)?;
        if from > 0 {
            io::Seek::seek(&mut file, io::SeekFrom::Start(from))
                .map_err(|e| failed("read", &shard.name, e))?;
        }
        advise::sequential(&file);
        Ok(Some(Box::new(file)))
    }

    /// Unlike [`Store::list`] it does not look up sizes: on a network file system that is one request per file, which
    /// for a million images is the difference between seconds and minutes.
    fn names(&self, folder: &str) -> Result<Vec<String>> {
        walk::walk(folder)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        super::paths::find_local(path, &mut found)?;
        Ok(found)
    }

    fn local_path(&self, name: &str) -> Option<PathBuf> {
        Some(PathBuf::from(name))
    }

    fn network(&self, name: &str) -> Option<&'static str> {
        mounts::network(Path::new(name))
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        // Only a hint: errors occur again, and are reported, when the bytes are read.
        if let Ok(file) = self.open(shard, ranges) {
            for range in ranges.iter().filter(|range| !range.is_empty()) {
                let len = range.end - range.start;
                signals::count_announced(len, advise::announce(&file, range.start, len));
            }
        }
    }
}

/// Returns name, size and modification time of a file.
fn stat(name: &str) -> Result<Shard> {
    let data = std::fs::metadata(name).map_err(|e| failed("look at", name, e))?;
    check_regular(name, &data)?;
    Ok(Shard { name: name.into(), size: data.len(), modified: modified(&data), version: version(&data) })
}

/// Refuses what is not a regular file: opening a pipe waits for somebody to write to it, and a device never ends.
fn check_regular(name: &str, data: &Metadata) -> Result<()> {
    if data.is_file() {
        return Ok(());
    }
    if data.is_dir() {
        return Err(failed("read", name, io::Error::new(ErrorKind::IsADirectory, "it is a folder")));
    }
    let kind = data.file_type();
    let what = match (kind.is_fifo(), kind.is_socket(), kind.is_block_device()) {
        (true, ..) => "a named pipe",
        (_, true, _) => "a socket",
        (.., true) => "a block device",
        _ => "a device",
    };
    let what = format!("it is {what}, not a regular file; to read a pipe as a stream, give `pipe:cat PATH`");
    Err(failed("read", name, io::Error::new(ErrorKind::InvalidInput, what)))
}

/// Returns the modification time in nanoseconds.
fn modified(data: &Metadata) -> Option<u64> {
    nanoseconds(data.mtime(), data.mtime_nsec())
}

/// Time of the last change of the file or its properties (ctime), which nobody can set back. The inode is left out:
/// several user-space file systems give a file a new one whenever they have forgotten it.
fn version(data: &Metadata) -> Option<u64> {
    nanoseconds(data.ctime(), data.ctime_nsec())
}

fn nanoseconds(seconds: i64, rest: i64) -> Option<u64> {
    let seconds = u64::try_from(seconds).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(rest).ok()?)
}

/// Opens a file and checks that it is still the one that was listed: otherwise rows of another file would be read
/// without notice.
fn open(shard: &Shard) -> Result<File> {
    // Without blocking: a named pipe that took the place of the file would be waited for.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&*shard.name)
        .map_err(|e| failed("open", &shard.name, e))?;
    let data = file.metadata().map_err(|e| failed("look at", &shard.name, e))?;
    check_regular(&shard.name, &data)?;
    check_same(shard, &data)?;
    Ok(file)
}

/// Compares a file with what was listed.
fn check_same(shard: &Shard, data: &Metadata) -> Result<()> {
    let differs = |listed: Option<u64>, now| listed.is_some() && listed != now;
    let what = if data.len() != shard.size {
        format!("it had {} bytes and has {} now", shard.size, data.len())
    } else if differs(shard.modified, modified(data)) {
        "its modification time is another one".to_owned()
    } else if differs(shard.version, version(data)) {
        "it was written to or replaced and got its old modification time back, or its owner, mode or links were \
         changed (ctime)"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Changed { path: shard.name.to_string(), what })
}

fn read(file: &File, shard: &Shard, range: &Range<u64>, pool: &Arc<Pool>) -> Result<Bytes> {
    check_inside(shard, range)?;
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let mut buffer = pool.take(len)?;
    read_at(file, shard, range, &mut buffer)?;
    Ok(buffer.freeze())
}

fn check_inside(shard: &Shard, range: &Range<u64>) -> Result<()> {
    if range.start <= range.end && range.end <= shard.size {
        return Ok(());
    }
    let what = format!("bytes {}..{} are beyond its end at {}", range.start, range.end, shard.size);
    Err(failed("read", &shard.name, io::Error::new(ErrorKind::UnexpectedEof, what)))
}

fn read_at(file: &File, shard: &Shard, range: &Range<u64>, out: &mut [u8]) -> Result<()> {
    check_inside(shard, range)?;
    match file.read_exact_at(out, range.start) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
            // Cut short, or only a read that ended early, which can be tried again.
            let data = file.metadata().map_err(|e| failed("look at", &shard.name, e))?;
            check_same(shard, &data)?;
            Err(failed("read", &shard.name, e))
        }
        Err(e) => Err(failed("read", &shard.name, e)),
    }
}

/// The error of a file operation; a missing file gets a hint.
fn failed(doing: &'static str, name: &str, cause: io::Error) -> Error {
    if cause.kind() == ErrorKind::NotFound { missing(Path::new(name)) } else { Error::io(doing, name, cause) }
}

#[cfg(test)]
mod tests;
