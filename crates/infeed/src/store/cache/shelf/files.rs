//! The files of a shelf: samples one after the other, each behind a short head.
//!
//! Each process writes to a file of its own, which it has locked; one that is not full is taken over by the next process.

use super::log::Place;
use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

/// The text that says what a shelf holds.
pub(super) const ABOUT: &str = "about";
/// Bytes before a sample: its number, its length, its checksum, and that of these three.
pub(super) const HEAD: u64 = 32;
/// Files are so many parts of the limit, within bounds: few enough to be open all at once.
const PARTS: u64 = 64;
const SMALLEST: u64 = 1 << 20;
const LARGEST: u64 = 1 << 30;

/// The folder of a shelf.
pub(super) fn folder(root: &Path, shelf: u128) -> PathBuf {
    root.join("objects").join(format!("{shelf:032x}"))
}

/// What lies in a folder; nothing, if it is gone.
fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// All shelves of a folder.
pub(super) fn shelves(root: &Path) -> Vec<u128> {
    let number = |name: &str| (name.len() == 32).then(|| u128::from_str_radix(name, 16).ok())?;
    entries(&root.join("objects")).filter_map(|entry| number(entry.file_name().to_str()?)).collect()
}

/// The files with samples of a shelf, with their numbers.
pub(super) fn numbered(root: &Path, shelf: u128) -> Vec<(u32, PathBuf)> {
    let number = |name: &str| name.strip_suffix(".data")?.parse().ok();
    let found = entries(&folder(root, shelf));
    found.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path()))).collect()
}

/// Bytes of the files of a shelf.
pub(super) fn bytes(root: &Path, shelf: u128) -> u64 {
    let files = numbered(root, shelf).into_iter();
    files.filter_map(|(_, path)| Some(fs::metadata(path).ok()?.len())).sum()
}

/// When a shelf was last opened.
pub(super) fn last_used(root: &Path, shelf: u128) -> SystemTime {
    let about = fs::metadata(folder(root, shelf).join(ABOUT));
    about.and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Removes a shelf, if nobody uses it. The lock of the log is held, so nobody begins to.
pub(super) fn remove_unused(root: &Path, shelf: u128) -> bool {
    let folder = folder(root, shelf);
    let users = File::options().read(true).write(true).open(folder.join(super::state::USERS));
    let free = match &users {
        Ok(file) => file.try_lock().is_ok(),
        // Whoever made the folder was killed before the lock was there.
        Err(e) => e.kind() == ErrorKind::NotFound,
    };
    free && fs::remove_dir_all(&folder).is_ok()
}

/// Writes a sample, with its head, at a place.
pub(super) fn write(file: &File, offset: u64, sample: u128, bytes: &[u8]) -> io::Result<u32> {
    let sum = crc32c::crc32c(bytes);
    file.write_all_at(&head(sample, bytes.len() as u64, sum), offset)?;
    file.write_all_at(bytes, offset + HEAD)?;
    Ok(sum)
}

/// The bytes before a sample.
pub(super) fn head(sample: u128, len: u64, sum: u32) -> [u8; HEAD as usize] {
    let mut out = [0; HEAD as usize];
    out[..16].copy_from_slice(&sample.to_le_bytes());
    out[16..24].copy_from_slice(&len.to_le_bytes());
    out[24..28].copy_from_slice(&sum.to_le_bytes());
    let check = crc32c::crc32c(&out[..28]);
    out[28..].copy_from_slice(&check.to_le_bytes());
    out
}

/// Reads a sample with its head into memory of exactly that size, and checks both.
pub(super) fn read(file: &File, sample: u128, place: &Place, out: &mut [u8]) -> io::Result<()> {
    let damaged = |what: &str| io::Error::new(ErrorKind::InvalidData, what);
    file.read_exact_at(out, place.offset).map_err(|e| match e.kind() {
        ErrorKind::UnexpectedEof => damaged("it was cut short"),
        _ => e,
    })?;
    let (start, bytes) = out.split_at(HEAD as usize);
    if *start != head(sample, place.len, place.sum) {
        return Err(damaged("another sample lies there"));
    }
    if crc32c::crc32c(bytes) != place.sum {
        return Err(damaged("its bytes do not have their checksum"));
    }
    Ok(())
}

/// The files of one shelf, as a process knows them.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    most: u64,
    /// Where the samples of each file end, as far as is known.
    ends: HashMap<u32, u64>,
    own: Option<Own>,
}

/// The file that this process writes to.
#[derive(Debug)]
struct Own {
    number: u32,
    file: Arc<File>,
    end: u64,
}

impl Files {
    pub(super) fn new(folder: PathBuf, limit: u64) -> Files {
        let mut files = Files { folder, most: 0, ends: HashMap::new(), own: None };
        files.set_limit(limit);
        files
    }

    pub(super) fn set_limit(&mut self, limit: u64) {
        self.most = (limit / PARTS).clamp(SMALLEST, LARGEST);
    }

    /// Learns of a sample.
    pub(super) fn count(&mut self, place: &Place) {
        let end = self.ends.entry(place.file).or_default();
        *end = (*end).max(place.offset.saturating_add(HEAD).saturating_add(place.len));
    }

    pub(super) fn has_room(&self, size: u64) -> bool {
        self.own.as_ref().is_some_and(|own| own.end == 0 || own.end + size <= self.most)
    }

    /// Takes a file that nobody writes to, or a new one. The lock of the log is held.
    pub(super) fn next(&mut self) -> io::Result<()> {
        self.own = None;
        let open = |number: u32, fresh: bool| {
            let path = self.folder.join(format!("{number:08}.data"));
            let file = File::options().read(true).write(true).create_new(fresh).open(path)?;
            Ok::<_, io::Error>(file.try_lock().is_ok().then_some(file))
        };
        for (number, end) in &self.ends {
            if *end < self.most / 2
                && let Ok(Some(file)) = open(*number, false)
            {
                // What lies behind was written by one that was killed before it said so.
                file.set_len(*end)?;
                self.own = Some(Own { number: *number, file: Arc::new(file), end: *end });
                return Ok(());
            }
        }
        let mut number = self.ends.keys().max().map_or(0, |last| last + 1);
        loop {
            match open(number, true) {
                Ok(Some(file)) => {
                    self.own = Some(Own { number, file: Arc::new(file), end: 0 });
                    return Ok(());
                }
                // Of others that have not kept a sample yet.
                Ok(None) => {}
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
            number = number.checked_add(1).ok_or_else(|| io::Error::other("too many files"))?;
        }
    }

    pub(super) fn reserve(&mut self, size: u64) -> io::Result<(Arc<File>, u32, u64)> {
        let own = self.own.as_mut().ok_or_else(|| io::Error::other("no file to write to"))?;
        let offset = own.end;
        own.end += size;
        Ok((Arc::clone(&own.file), own.number, offset))
    }

    /// Takes a place back, if nothing lies behind it.
    pub(super) fn give_back(&mut self, file: u32, offset: u64, size: u64) -> bool {
        let own = self.own.as_mut().filter(|own| own.number == file && own.end == offset + size);
        own.is_some_and(|own| {
            own.end = offset;
            own.file.set_len(offset).is_ok()
        })
    }

    pub(super) fn close(&mut self) {
        self.own = None;
    }
}
