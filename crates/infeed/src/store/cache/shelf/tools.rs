//! Looking after shelves: what they hold, whether it is sound, and making room. All of it works while others use them.

use super::{
    super::users,
    ROOT, ShelfAbout, files,
    log::{Event, Log, Record},
    state::USERS,
};
use infeed_core::{Error, Result};
use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// One shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShelfInfo {
    /// What it holds; `None` if that is not known any more.
    pub about: Option<ShelfAbout>,
    /// Its samples.
    pub samples: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// When it was last opened.
    pub used: Option<SystemTime>,
    /// Whether somebody uses it.
    pub in_use: bool,
}

/// A sample that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedSample {
    /// The file.
    pub path: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// What is wrong with it.
    pub what: String,
}

/// What a check of the shelves found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifiedShelves {
    /// Sound samples.
    pub samples: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Samples that are not sound; forgotten with `repair`.
    pub damaged: Vec<DamagedSample>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanedShelves {
    /// Shelves.
    pub shelves: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Shelves that stay because somebody uses them.
    pub in_use: u64,
}

/// Where the shelves of a folder are, if it has any.
fn root(folder: &Path) -> Option<PathBuf> {
    let inside = folder.join(ROOT);
    let root = if folder.ends_with(ROOT) && !inside.is_dir() { folder.to_owned() } else { inside };
    root.join("objects").is_dir().then_some(root)
}

/// Whether a folder has shelves.
pub(in super::super) fn exist(folder: &Path) -> bool {
    root(folder).is_some()
}

fn failed(root: &Path, error: io::Error) -> Error {
    Error::io("read", root.display().to_string(), error)
}

/// The samples of all shelves.
fn kept(log: &mut Log) -> io::Result<BTreeMap<(u128, u128), Record>> {
    let mut kept = BTreeMap::new();
    for record in log.news()?.records {
        match record.event {
            Event::Kept => drop(kept.insert((record.shelf, record.sample), record)),
            Event::Gone => kept.retain(|(shelf, _), _| *shelf != record.shelf),
            Event::Granted | Event::Returned => {}
        }
    }
    Ok(kept)
}

/// Lists the shelves in a folder; none if there are none.
pub fn shelves(folder: &Path) -> Result<Vec<ShelfInfo>> {
    let Some(root) = root(folder) else { return Ok(Vec::new()) };
    let samples = Log::open(&root).and_then(|mut log| kept(&mut log)).map_err(|e| failed(&root, e))?;
    let mut counts: HashMap<u128, u64> = HashMap::new();
    samples.keys().for_each(|(shelf, _)| *counts.entry(*shelf).or_default() += 1);
    let one = |shelf: u128| {
        let folder = files::folder(&root, shelf);
        let about = fs::read(folder.join(files::ABOUT)).ok();
        ShelfInfo {
            about: about.and_then(|text| serde_json::from_slice(&text).ok()),
            samples: counts.get(&shelf).copied().unwrap_or(0),
            bytes: files::bytes(&root, shelf),
            used: Some(files::last_used(&root, shelf)),
            in_use: File::open(folder.join(USERS)).is_ok_and(|file| file.try_lock().is_err()),
        }
    };
    let mut all: Vec<ShelfInfo> = files::shelves(&root).into_iter().map(one).collect();
    all.sort_by_key(|shelf| std::cmp::Reverse(shelf.used));
    Ok(all)
}

/// Reads every sample in a folder and checks it.
pub fn verify(folder: &Path, repair: bool) -> Result<VerifiedShelves> {
    let mut verified = VerifiedShelves::default();
    let Some(root) = root(folder) else { return Ok(verified) };
    let mut log = Log::open(&root).map_err(|e| failed(&root, e))?;
    let mut wrong = Vec::new();
    for ((shelf, sample), record) in kept(&mut log).map_err(|e| failed(&root, e))? {
        let path = files::folder(&root, shelf).join(format!("{:08}.data", record.place.file));
        match check(&path, &record) {
            Ok(bytes) => {
                verified.samples += 1;
                verified.bytes += bytes;
            }
            // Removed meanwhile, with its shelf.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => {
                wrong.push((shelf, sample, record.place));
                let damaged = DamagedSample { path, offset: record.place.offset, what: e.to_string() };
                verified.damaged.push(damaged);
            }
        }
    }
    if repair && !wrong.is_empty() {
        forget(&mut log, &root, &wrong).map_err(|e| failed(&root, e))?;
    }
    Ok(verified)
}

/// Writes the log anew, without these samples.
fn forget(log: &mut Log, root: &Path, wrong: &[(u128, u128, super::log::Place)]) -> io::Result<()> {
    log.lock()?;
    let done = Log::open(root).and_then(|mut fresh| {
        let mut records = fresh.news()?.records;
        records.retain(|record| !wrong.contains(&(record.shelf, record.sample, record.place)));
        log.replace(&records)
    });
    log.unlock();
    done
}

fn check(path: &Path, record: &Record) -> io::Result<u64> {
    let file = File::open(path)?;
    let size = record.place.len.saturating_add(files::HEAD);
    let inside = record.place.offset.checked_add(size).is_some_and(|end| {
        // Before anything of this size is allocated.
        file.metadata().is_ok_and(|data| end <= data.len())
    });
    if !inside {
        return Err(io::Error::new(ErrorKind::InvalidData, "it was cut short"));
    }
    let mut bytes = infeed_core::memory::zeroed(size as usize).map_err(io::Error::other)?;
    files::read(&file, record.sample, &record.place, &mut bytes)?;
    Ok(record.place.len)
}

/// Removes shelves from a folder: all that nobody uses, or those that were not opened for a while.
pub fn clean(folder: &Path, unused_for: Option<Duration>) -> Result<CleanedShelves> {
    let mut cleaned = CleanedShelves::default();
    let Some(root) = root(folder) else { return Ok(cleaned) };
    let mut log = Log::open(&root).map_err(|e| failed(&root, e))?;
    log.lock().map_err(|e| failed(&root, e))?;
    let before = unused_for.and_then(|time| SystemTime::now().checked_sub(time));
    let mut records = Vec::new();
    for shelf in files::shelves(&root) {
        if unused_for.is_some() && before.is_none_or(|before| files::last_used(&root, shelf) >= before) {
            continue;
        }
        let bytes = files::bytes(&root, shelf);
        if files::remove_unused(&root, shelf) {
            cleaned.shelves += 1;
            cleaned.bytes += bytes;
            records.push(Record::bytes(Event::Gone, shelf, 0));
        } else {
            cleaned.in_use += 1;
        }
    }
    let done = log.news().and_then(|_| log.append(&records));
    log.unlock();
    done.map_err(|e| Error::io("write", root.display().to_string(), e))?;
    if files::shelves(&root).is_empty() {
        users::remove_unused(&root);
    }
    Ok(cleaned)
}
