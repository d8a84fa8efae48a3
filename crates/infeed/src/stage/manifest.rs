//! What a folder of staged files knows of them.
//!
//! `infeed-stage.json` lists every complete copy. While files are staged, each finished one is a line in a log beside it:
//! writing the whole list anew for every file would take hours for a million files. The list is written anew, and the log
//! emptied, at the end. A process that is killed leaves the log behind, and readers read both.

use infeed_core::{Error, Result, Shard, store::below::stays_inside};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{File, Metadata},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The list.
pub(super) const LIST: &str = "infeed-stage.json";
/// Where the list is written before it takes its place.
const FRESH: &str = ".infeed-stage.json.new";
/// What is newer than the list.
const LOG: &str = ".infeed-stage.log";
/// Held while list and log are read or written.
const LOCK: &str = ".infeed-stage.lock";
/// Held by everybody who uses the copies.
pub(super) const IN_USE: &str = ".infeed-stage.use";
/// The form of the list that this code writes.
const VERSION: u32 = 1;

/// The files of staging itself, apart from unfinished copies. The last one to be removed stands last.
pub(super) const OWN: [&str; 5] = [LIST, FRESH, LOG, LOCK, IN_USE];

/// Whether a name below the destination is one of staging's own.
pub(super) fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

/// One complete copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name below the folder.
    pub name: String,
    /// What it is a copy of: an absolute path, or a name in another store.
    pub source: String,
    /// Its size.
    pub size: u64,
    /// The source's modification time, if its store knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<u64>,
    /// The source's version, if its store has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The checksum of its bytes (CRC-32C), as hexadecimal digits.
    pub crc32c: String,
    /// The modification time of the copy: a copy that somebody wrote to is none.
    pub copied: u64,
}

impl Entry {
    /// Whether the copy is one of the source as it is now.
    pub(super) fn fits(&self, shard: &Shard) -> bool {
        let same = |then: Option<u64>, now: Option<u64>| then.is_none() || now.is_none() || then == now;
        self.size == shard.size && same(self.modified, shard.modified) && same(self.version, shard.version)
    }

    /// Whether a file is still the copy that was made.
    pub(super) fn is(&self, copy: &Metadata) -> bool {
        copy.is_file() && copy.len() == self.size && changed_at(copy) == self.copied
    }
}

/// The modification time of a file, in nanoseconds since 1970.
pub(super) fn changed_at(file: &Metadata) -> u64 {
    let seconds = u64::try_from(file.mtime()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(file.mtime_nsec()).unwrap_or(0))
}

#[derive(Serialize, Deserialize)]
struct List {
    version: u32,
    files: Vec<Entry>,
}

/// The copies of a folder, as far as this process knows.
#[derive(Debug)]
pub(super) struct Manifest {
    folder: PathBuf,
    entries: BTreeMap<String, Entry>,
    /// Inode, size and modification time of the list that was read.
    list: Option<(u64, u64, u64)>,
    /// How much of the log was read.
    logged: u64,
}

impl Manifest {
    /// Reads the manifest of a folder. One without it has no copies.
    pub(super) fn read(folder: &Path) -> Result<Manifest> {
        let mut manifest =
            Manifest { folder: folder.to_owned(), entries: BTreeMap::new(), list: None, logged: 0 };
        // A folder that can only be read has no writers to wait for.
        let _lock = manifest.lock().ok();
        manifest.catch_up()?;
        Ok(manifest)
    }

    /// Returns the copy with this name.
    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Returns all copies, sorted by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Reads what other processes have added.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let _lock = self.lock()?;
        self.catch_up()
    }

    /// Adds a copy, for all processes to see.
    pub(super) fn add(&mut self, entry: Entry) -> Result<()> {
        let text = serde_json::to_string(&entry).map_err(|e| Error::Internal { what: e.to_string() })?;
        let path = self.folder.join(LOG);
        let failed = |e| Error::io("write", path.display().to_string(), e);
        let _lock = self.lock()?;
        let mut log = File::options().append(true).create(true).open(&path).map_err(failed)?;
        // With a new line in front, too: the line before may be one that its process was killed in.
        log.write_all(format!("\n{text}\n").as_bytes()).map_err(failed)?;
        self.entries.insert(entry.name.clone(), entry);
        Ok(())
    }

    /// Writes the list anew and empties the log.
    pub(super) fn settle(&mut self) -> Result<()> {
        let (list, fresh, log) = (self.folder.join(LIST), self.folder.join(FRESH), self.folder.join(LOG));
        let failed = |e| Error::io("write", list.display().to_string(), e);
        let _lock = self.lock()?;
        self.catch_up()?;
        let all = List { version: VERSION, files: self.entries.values().cloned().collect() };
        let mut text = serde_json::to_vec_pretty(&all).map_err(|e| failed(e.into()))?;
        text.push(b'\n');
        std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, &list)).map_err(failed)?;
        // Others have it open: emptied, not removed.
        match File::options().write(true).open(&log) {
            Ok(log) => log.set_len(0).map_err(failed)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(e)),
        }
        self.catch_up()
    }

    fn lock(&self) -> Result<File> {
        let path = self.folder.join(LOCK);
        let failed = |e| Error::io("lock", path.display().to_string(), e);
        let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    /// Reads what is new. The lock is held.
    fn catch_up(&mut self) -> Result<()> {
        let (path, log) = (self.folder.join(LIST), self.folder.join(LOG));
        let list = std::fs::metadata(&path).ok().map(|data| (data.ino(), data.len(), changed_at(&data)));
        let mut log = File::open(log).ok();
        let len = log.as_ref().and_then(|log| log.metadata().ok()).map_or(0, |data| data.len());
        if list != self.list || len < self.logged {
            self.entries.clear();
            self.logged = 0;
            if list.is_some() {
                let files = read_list(&path)?;
                self.take(files.into_iter());
            }
            self.list = list;
        }
        if let Some(log) = log.as_mut().filter(|_| len > self.logged) {
            let failed = |e| Error::io("read", self.folder.join(LOG).display().to_string(), e);
            let mut text = Vec::new();
            log.seek(SeekFrom::Start(self.logged)).map_err(failed)?;
            log.take(len - self.logged).read_to_end(&mut text).map_err(failed)?;
            // A line that its process was killed in is no entry: the file is copied again.
            self.take(text.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()));
            self.logged = len;
        }
        Ok(())
    }

    /// A manifest is data: it may not name files outside of its folder.
    fn take(&mut self, entries: impl Iterator<Item = Entry>) {
        let inside = entries.filter(|entry| stays_inside(&entry.name) && !is_own(&entry.name));
        self.entries.extend(inside.map(|entry| (entry.name.clone(), entry)));
    }
}

fn read_list(path: &Path) -> Result<Vec<Entry>> {
    let name = path.display().to_string();
    let text = std::fs::read(path).map_err(|e| Error::io("read", &*name, e))?;
    let wrong = |what: String| Error::Format { shard: name.clone(), offset: 0, what };
    let list: List = serde_json::from_slice(&text).map_err(|e| {
        wrong(format!(
            "it is not a list of staged files ({e}); remove it and the files beside it, and stage again"
        ))
    })?;
    if list.version != VERSION {
        return Err(wrong(format!(
            "version {VERSION} is read, it has version {}: use the infeed that wrote it, or another folder",
            list.version
        )));
    }
    Ok(list.files)
}
