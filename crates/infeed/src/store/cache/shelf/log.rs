//! What all processes know together of the shelves in a folder: which samples lie where, and how many bytes were granted.
//!
//! Like the journal of chunks, a file to which everybody appends while holding a lock (`flock` on a file of its own), in records
//! with checksums. A record that was cut short by a crash is taken off by the next one that holds the lock. Reading needs no lock:
//! a record that is not whole yet is read the next time.

use super::super::claim::is_at;
use infeed_core::signals;
use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Bytes of a record.
pub(super) const RECORD: usize = 64;
/// Nobody holds the lock for longer than this: it is taken for a few milliseconds at a time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Records that are read at once.
const AT_ONCE: u64 = 1 << 14;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A process may write so many bytes to a shelf; they count from now on.
    Granted,
    /// It did not need so many of them.
    Returned,
    /// A sample is there.
    Kept,
    /// A shelf was removed.
    Gone,
}

const EVENTS: [Event; 4] = [Event::Granted, Event::Returned, Event::Kept, Event::Gone];

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) event: Event,
    pub(super) shelf: u128,
    pub(super) sample: u128,
    pub(super) place: Place,
}

/// Where a sample lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) len: u64,
    /// Checksum of the bytes.
    pub(super) sum: u32,
}

impl Record {
    /// A record about bytes.
    pub(super) fn bytes(event: Event, shelf: u128, bytes: u64) -> Record {
        Record { event, shelf, sample: 0, place: Place { len: bytes, ..Place::default() } }
    }

    fn encode(&self) -> [u8; RECORD] {
        let mut out = [0; RECORD];
        let event = EVENTS.iter().position(|known| *known == self.event).unwrap_or(0) as u32 + 1;
        out[..4].copy_from_slice(&event.to_le_bytes());
        out[4..8].copy_from_slice(&self.place.file.to_le_bytes());
        out[8..24].copy_from_slice(&self.shelf.to_le_bytes());
        out[24..40].copy_from_slice(&self.sample.to_le_bytes());
        out[40..48].copy_from_slice(&self.place.offset.to_le_bytes());
        out[48..56].copy_from_slice(&self.place.len.to_le_bytes());
        out[56..60].copy_from_slice(&self.place.sum.to_le_bytes());
        let check = crc32c::crc32c(&out[..60]);
        out[60..].copy_from_slice(&check.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8; RECORD]) -> Option<Record> {
        fn part<const N: usize>(bytes: &[u8; RECORD], at: usize) -> [u8; N] {
            let mut out = [0; N];
            out.copy_from_slice(&bytes[at..at + N]);
            out
        }
        if crc32c::crc32c(&bytes[..60]).to_le_bytes() != bytes[60..] {
            return None;
        }
        let event = usize::try_from(u32::from_le_bytes(part(bytes, 0))).ok()?.checked_sub(1)?;
        Some(Record {
            event: *EVENTS.get(event)?,
            shelf: u128::from_le_bytes(part(bytes, 8)),
            sample: u128::from_le_bytes(part(bytes, 24)),
            place: Place {
                file: u32::from_le_bytes(part(bytes, 4)),
                offset: u64::from_le_bytes(part(bytes, 40)),
                len: u64::from_le_bytes(part(bytes, 48)),
                sum: u32::from_le_bytes(part(bytes, 56)),
            },
        })
    }
}

/// The file of records, as one process has it open.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    lock: File,
    file: File,
    /// Where the first record is that was not read yet.
    at: u64,
    /// The lock is held.
    held: bool,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Everything that was known before does not count any more.
    pub(super) anew: bool,
    pub(super) records: Vec<Record>,
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

impl Log {
    /// Opens the records of a folder; nothing is read yet.
    pub(super) fn open(root: &Path) -> io::Result<Log> {
        let path = root.join("log");
        let (lock, file) = (open(&root.join("lock"))?, open(&path)?);
        Ok(Log { path, lock, file, at: 0, held: false })
    }

    /// The same file, read as far as another handle has read it.
    pub(super) fn continued(self, from: &Log) -> Log {
        Log { at: from.at, ..self }
    }

    pub(super) fn lock(&mut self) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut pause = Duration::from_micros(20);
        loop {
            match self.lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until && !signals::is_cancelled() => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "somebody holds its lock"));
                }
                Err(TryLockError::Error(e)) => return Err(e),
            }
        }
        self.held = true;
        Ok(())
    }

    pub(super) fn unlock(&mut self) {
        self.held = false;
        let _ = self.lock.unlock();
    }

    /// Reads what was written since the last time.
    pub(super) fn news(&mut self) -> io::Result<News> {
        let mut news = News::default();
        if !is_at(&self.file, &self.path) {
            self.file = open(&self.path)?;
            (self.at, news.anew) = (0, true);
        }
        let mut len = self.file.metadata()?.len();
        if len < self.at {
            (self.at, news.anew) = (0, true);
        }
        let mut bytes = Vec::new();
        while len - self.at >= RECORD as u64 {
            let count = ((len - self.at) / RECORD as u64).min(AT_ONCE);
            bytes.resize(count as usize * RECORD, 0);
            match self.file.read_exact_at(&mut bytes, self.at) {
                // Cut short meanwhile by one that holds the lock.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => break,
                other => other?,
            }
            let before = news.records.len();
            news.records.extend(bytes.as_chunks::<RECORD>().0.iter().map_while(Record::decode));
            let read = (news.records.len() - before) as u64;
            self.at += read * RECORD as u64;
            if read < count {
                break;
            }
        }
        if self.held && len > self.at {
            // Whoever holds the lock sees whole records: the rest is damaged, or its writer is gone.
            len = self.at;
            self.file.set_len(len)?;
        }
        Ok(news)
    }

    /// Appends records. The lock is held, and all news are read.
    pub(super) fn append(&mut self, records: &[Record]) -> io::Result<()> {
        let bytes: Vec<u8> = records.iter().flat_map(Record::encode).collect();
        self.file.write_all_at(&bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Replaces all records. The lock is held.
    pub(super) fn replace(&mut self, records: &[Record]) -> io::Result<()> {
        let aside = self.path.with_extension("part");
        let bytes: Vec<u8> = records.iter().flat_map(Record::encode).collect();
        fs::write(&aside, &bytes)?;
        fs::rename(&aside, &self.path)?;
        self.file = open(&self.path)?;
        self.at = bytes.len() as u64;
        Ok(())
    }
}
