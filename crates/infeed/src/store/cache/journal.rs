//! What all processes know together: which chunks are kept, and how many bytes that makes.
//!
//! A file to which every process appends what it does (reserve, keep, remove, use), holding a lock. Whoever takes the lock first
//! reads what the others have written since, so that all of them count the same bytes. Records have checksums: a record that was
//! cut short by a crash, or a file that is damaged, is made again from the chunks that are there. When most records are
//! outdated, the file is written anew and renamed; the others see that it is another file.

use super::{
    claim::is_at,
    object::{ChunkId, for_each_chunk},
};
use infeed_core::signals;
use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Bytes of a record: kind, chunk, bytes, key, checksum, nothing.
const RECORD: usize = 4 + 4 + 8 + 16 + 4 + 4;
/// The file is written anew when it has so many records more than four for each chunk.
const SPARE: u64 = 16 << 10;
/// Nobody holds the lock for longer than this: it is taken for a few milliseconds at a time.
const PATIENCE: Duration = Duration::from_secs(10);

/// What happened to a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// It will be written: its bytes are counted.
    Reserved,
    /// It is there.
    Kept,
    /// It is gone.
    Removed,
    /// So many of its bytes were used.
    Used,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) event: Event,
    pub(super) id: ChunkId,
    pub(super) bytes: u64,
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
        let event: u32 = match self.event {
            Event::Reserved => 1,
            Event::Kept => 2,
            Event::Removed => 3,
            Event::Used => 4,
        };
        let mut out = [0; RECORD];
        out[..4].copy_from_slice(&event.to_le_bytes());
        out[4..8].copy_from_slice(&self.id.1.to_le_bytes());
        out[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        out[16..32].copy_from_slice(&self.id.0.to_le_bytes());
        let sum = crc32c::crc32c(&out[..32]);
        out[32..36].copy_from_slice(&sum.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8; RECORD]) -> Option<Record> {
        let (body, end) = bytes.split_at(32);
        if end[..4] != crc32c::crc32c(body).to_le_bytes() {
            return None;
        }
        let word = |at: usize| body[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        let event = match word(0)? {
            1 => Event::Reserved,
            2 => Event::Kept,
            3 => Event::Removed,
            4 => Event::Used,
            _ => return None,
        };
        let bytes = u64::from_le_bytes(body[8..16].try_into().ok()?);
        Some(Record { event, id: (u128::from_le_bytes(body[16..32].try_into().ok()?), word(4)?), bytes })
    }
}

/// The journal of a cache, as one process sees it.
#[derive(Debug)]
pub(super) struct Journal {
    root: PathBuf,
    path: PathBuf,
    lock: File,
    file: Option<File>,
    /// Where the records begin that this process has not seen.
    at: u64,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct News {
    /// All that was known before is void.
    pub(super) anew: bool,
    pub(super) records: Vec<Record>,
}

impl Journal {
    /// Opens the journal of a cache.
    pub(super) fn open(root: &Path) -> io::Result<Journal> {
        let lock =
            File::options().read(true).write(true).create(true).truncate(false).open(root.join("lock"))?;
        Ok(Journal { root: root.to_owned(), path: root.join("journal"), lock, file: None, at: 0 })
    }

    /// Takes the lock.
    pub(super) fn lock(&self) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut pause = Duration::from_micros(50);
        loop {
            match self.lock.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(e)) => return Err(e),
                Err(TryLockError::WouldBlock) if Instant::now() > until || signals::is_cancelled() => {
                    return Err(ErrorKind::TimedOut.into());
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Releases the lock.
    pub(super) fn unlock(&self) {
        let _ = self.lock.unlock();
    }

    /// Reads what others have written. The lock must be held.
    pub(super) fn news(&mut self) -> io::Result<News> {
        let anew = !self.file.as_ref().is_some_and(|file| is_at(file, &self.path));
        if anew {
            self.at = 0;
            self.file = match File::options().read(true).append(true).open(&self.path) {
                Err(e) if e.kind() == ErrorKind::NotFound => return self.rebuild(),
                other => Some(other?),
            };
        }
        let Some(file) = &self.file else { return self.rebuild() };
        let end = file.metadata()?.len();
        // An empty one may be all that a crash of the machine has left.
        if end < self.at || end % RECORD as u64 != 0 || end == 0 {
            return self.rebuild();
        }
        let mut bytes = vec![0; usize::try_from(end - self.at).unwrap_or(0)];
        file.read_exact_at(&mut bytes, self.at)?;
        let records: Option<Vec<Record>> = bytes.as_chunks::<RECORD>().0.iter().map(Record::decode).collect();
        let Some(records) = records else { return self.rebuild() };
        self.at = end;
        Ok(News { anew, records })
    }

    /// Appends records. The lock must be held, and [`Journal::news`] have been read.
    pub(super) fn append(&mut self, records: &[Record]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let Some(file) = &mut self.file else { return Err(ErrorKind::NotFound.into()) };
        let bytes: Vec<u8> = records.iter().flat_map(Record::encode).collect();
        if let Err(e) = file.write_all(&bytes) {
            // Not half a record: on a full disk the next one would have to make the file again.
            let _ = file.set_len(self.at);
            return Err(e);
        }
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Whether most records are outdated, for a cache of so many chunks.
    pub(super) fn is_long(&self, chunks: usize) -> bool {
        self.at / RECORD as u64 > 4 * chunks as u64 + SPARE
    }

    /// Writes the file anew. The lock must be held.
    pub(super) fn replace(&mut self, records: &[Record]) -> io::Result<()> {
        let aside = self.root.join("journal.part");
        fs::write(&aside, records.iter().flat_map(Record::encode).collect::<Vec<u8>>())?;
        let file = File::options().read(true).append(true).open(&aside)?;
        fs::rename(&aside, &self.path)?;
        self.at = (records.len() * RECORD) as u64;
        self.file = Some(file);
        Ok(())
    }

    /// Makes the journal again from the chunks that are there. The lock must be held.
    pub(super) fn rebuild(&mut self) -> io::Result<News> {
        let mut records = Vec::new();
        for_each_chunk(&self.root, |id, path| {
            if let Ok(data) = fs::metadata(path) {
                records.push(Record { event: Event::Kept, id, bytes: data.len() });
            }
        });
        self.replace(&records)?;
        Ok(News { anew: true, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(event: Event, chunk: u32) -> Record {
        Record { event, id: (u128::MAX / 3, chunk), bytes: 1 << 40 | u64::from(chunk) }
    }

    fn add(journal: &mut Journal, records: &[Record]) {
        news(journal);
        journal.append(records).unwrap();
    }

    fn news(journal: &mut Journal) -> News {
        journal.lock().unwrap();
        let news = journal.news().unwrap();
        journal.unlock();
        news
    }

    #[test]
    fn all_processes_see_the_same() {
        let root = tempfile::tempdir().unwrap();
        let mut one = Journal::open(root.path()).unwrap();
        let mut two = Journal::open(root.path()).unwrap();
        assert_eq!(news(&mut one), News { anew: true, records: vec![] });
        let first = [record(Event::Reserved, 1), record(Event::Kept, 1)];
        add(&mut one, &first);
        assert_eq!(news(&mut one), News { anew: false, records: vec![] });
        assert_eq!(news(&mut two), News { anew: true, records: first.to_vec() });
        let second = [record(Event::Removed, 1), record(Event::Used, 7)];
        add(&mut two, &second);
        assert_eq!(news(&mut one), News { anew: false, records: second.to_vec() });
        two.replace(&first[1..]).unwrap();
        assert_eq!(news(&mut one), News { anew: true, records: first[1..].to_vec() });
        assert_eq!(news(&mut two), News { anew: false, records: vec![] });
    }

    #[test]
    fn damage_leads_to_the_files() {
        let root = tempfile::tempdir().unwrap();
        let folder = super::super::object::folder(root.path(), 5);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("00000009"), [0; 70]).unwrap();
        fs::write(folder.join("about"), "{}").unwrap();
        let want = News { anew: true, records: vec![Record { event: Event::Kept, id: (5, 9), bytes: 70 }] };
        let spoil: [fn(&mut Vec<u8>); 4] = [
            |bytes| bytes.truncate(RECORD + 3),
            |bytes| bytes[RECORD + 20] ^= 1,
            |bytes| bytes.clear(),
            |bytes| bytes.push(0),
        ];
        for spoil in spoil {
            let mut journal = Journal::open(root.path()).unwrap();
            add(&mut journal, &[record(Event::Kept, 1), record(Event::Kept, 2)]);
            let mut bytes = fs::read(root.path().join("journal")).unwrap();
            spoil(&mut bytes);
            fs::write(root.path().join("journal"), &bytes).unwrap();
            if bytes.is_empty() {
                assert_eq!(news(&mut journal), want);
            } else {
                assert_eq!(news(&mut Journal::open(root.path()).unwrap()), want);
            }
        }
    }

    #[test]
    fn one_has_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (Journal::open(root.path()).unwrap(), Journal::open(root.path()).unwrap());
        one.lock().unwrap();
        assert!(two.lock.try_lock().is_err());
        one.unlock();
        two.lock().unwrap();
    }
}
