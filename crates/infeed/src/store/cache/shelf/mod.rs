//! Shelves: samples that were made once and are kept, on disk or in memory, for all processes of a machine.
//!
//! A *shelf* holds samples that one pipeline makes. They are small, there are many, and how large one is shows only when it is
//! made: chunks of objects, each a file with a journal of its uses, would not fit them. So samples lie one after the other in a few
//! files, and a log says which one lies where.
//!
//! # How it works
//!
//! * **Looking up** a sample is a lookup in memory; what other processes have added is read from the log when one is missing. Its
//!   bytes are read with `pread`, never mapped, and checked each time: number, length, checksum. A damaged sample is made again.
//! * **Keeping.** Whoever has made a sample appends it to a file of its own and then writes a record. Without the record there is no
//!   sample, so a process that is killed in between leaves bytes that nobody reads, and the next one writes over them.
//! * **The limit** holds for all shelves of a folder and all processes: each asks the log for bytes before it writes them.
//! * **What stays.** A sample that is kept stays, and when the limit is reached no more are kept: an epoch larger than the limit hits the
//!   same share every time. Shelves that nobody uses any more, of another pipeline or of data that has changed, go when others need
//!   the room, the oldest first.
//! * **Locks** are `flock`, which end with their process. A full or read-only disk turns keeping off, with one [`Shelf::warning`].
//! * **After a fork** the child has locks and files of its own.

mod files;
mod log;
mod opening;
mod recount;
mod report;
mod state;
pub mod tools;

use super::{options::CacheOptions, stats::ShelfCounters, users::User};
use bytes::Bytes;
use infeed_core::{Error, Hold, Result, pool::Pool};
use log::{Place, RECORD};
use serde::{Deserialize, Serialize};
use state::{Places, Reserved, State};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, ErrorKind},
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The folder inside the one that the user gave.
const ROOT: &str = "infeed-samples-1";
/// Bytes of unused buffers that a shelf keeps.
const KEPT: usize = 64 << 20;
/// With less than this part of the limit free, no more samples are tried.
const FULL: u64 = 64;

/// What a shelf holds, for `infeed cache ls`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelfAbout {
    /// Where the rows come from.
    pub source: String,
    /// What was done to them.
    pub stages: String,
}

/// Samples that one pipeline makes.
pub struct Shelf {
    options: CacheOptions,
    limit: u64,
    /// `None` where the folder cannot be used at all.
    state: Option<Mutex<State>>,
    places: Places,
    files: RwLock<HashMap<u32, Arc<File>>>,
    folder: PathBuf,
    counters: ShelfCounters,
    pool: Arc<Pool>,
    full: AtomicBool,
    /// Why nothing is kept any more.
    off: OnceLock<String>,
    /// Locks that say that it is in use: of the shelf, then of the folder.
    users: Mutex<Option<(File, User)>>,
}

impl Shelf {
    /// Opens the shelf with this number. A folder that cannot be written to is no error: see [`Shelf::warning`].
    pub fn open(key: u128, about: &ShelfAbout, options: CacheOptions) -> Result<Arc<Shelf>> {
        if options.folder.exists() && !options.folder.is_dir() {
            let what = format!("the cache `{}` must be a folder, and is a file", options.folder.display());
            return Err(Error::argument(what));
        }
        let root = options.folder.join(ROOT);
        let places = Places::default();
        let about = serde_json::to_vec(about).unwrap_or_default();
        let (state, users, limit, failed) = match opening::begin(&root, key, &about, &options, &places) {
            Ok((state, users, limit)) => (Some(Mutex::new(state)), Some(users), limit, None),
            Err(e) => (None, None, options.limit.unwrap_or(0), Some(e)),
        };
        let shelf = Shelf {
            folder: files::folder(&root, key),
            options,
            limit,
            state,
            places,
            files: RwLock::default(),
            counters: ShelfCounters::default(),
            pool: Pool::new(KEPT),
            full: AtomicBool::new(false),
            off: OnceLock::new(),
            users: Mutex::new(users),
        };
        if let Some(e) = failed {
            shelf.turn_off(&e);
        }
        Ok(Arc::new(shelf))
    }

    /// Which of these samples are there, as far as is known after a look at what others have added.
    pub fn has(&self, samples: &[Option<u128>]) -> Vec<bool> {
        let look = || {
            let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
            samples.iter().map(|one| one.is_some_and(|one| places.contains_key(&one))).collect::<Vec<_>>()
        };
        let found = look();
        if found.contains(&false) && self.refresh() { look() } else { found }
    }

    fn refresh(&self) -> bool {
        let before = self.len();
        let Some(mut state) = self.state() else { return false };
        match state.refresh(&self.places) {
            Ok(true) => self.full.store(false, Relaxed),
            Ok(false) => {}
            Err(e) => self.turn_off(&e),
        }
        drop(state);
        self.len() != before
    }

    fn len(&self) -> usize {
        self.places.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The bytes of a sample, if it is there and sound.
    pub fn get(&self, sample: u128) -> Option<Bytes> {
        let place = self.places.read().unwrap_or_else(PoisonError::into_inner).get(&sample).copied()?;
        match self.read(sample, &place) {
            Ok(bytes) => {
                self.counters.add_hit(place.len);
                Some(bytes)
            }
            Err(e) => {
                if e.kind() == ErrorKind::InvalidData {
                    self.counters.add_damaged();
                }
                // It is made again, and then lies elsewhere.
                let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
                if places.get(&sample) == Some(&place) {
                    places.remove(&sample);
                }
                None
            }
        }
    }

    fn read(&self, sample: u128, place: &Place) -> io::Result<Bytes> {
        let file = self.file(place.file)?;
        // Before anything of this size is allocated.
        let size = place.len.saturating_add(files::HEAD);
        if place.offset.checked_add(size).is_none_or(|end| end > file.metadata().map_or(0, |data| data.len()))
        {
            return Err(ErrorKind::InvalidData.into());
        }
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let mut out = self.pool.take(size).map_err(io::Error::other)?;
        files::read(&file, sample, place, &mut out)?;
        Ok(out.freeze().slice(files::HEAD as usize..))
    }

    fn file(&self, number: u32) -> io::Result<Arc<File>> {
        if let Some(file) = self.files.read().unwrap_or_else(PoisonError::into_inner).get(&number) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(File::open(self.folder.join(format!("{number:08}.data")))?);
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(files.entry(number).or_insert(file)))
    }

    /// Whether it is worth the effort to offer a sample.
    pub fn wants_more(&self) -> bool {
        self.state.is_some() && self.off.get().is_none() && !self.full.load(Relaxed)
    }

    /// Keeps a sample, if there is room.
    pub fn put(&self, sample: u128, bytes: &[u8]) {
        if !self.wants_more() {
            return;
        }
        match self.try_put(sample, bytes) {
            Ok(true) => self.counters.add_kept(bytes.len() as u64),
            Ok(false) => {}
            Err(e) => self.turn_off(&e),
        }
    }

    fn try_put(&self, sample: u128, bytes: &[u8]) -> io::Result<bool> {
        let size = bytes.len() as u64 + files::HEAD;
        if size + RECORD as u64 > self.limit {
            return Ok(false);
        }
        let Some(mut state) = self.state() else { return Ok(false) };
        let (file, number, offset) = match state.reserve(sample, size, &self.places)? {
            Reserved::At(file, number, offset) => (file, number, offset),
            Reserved::There => return Ok(false),
            Reserved::NoRoom => {
                // A smaller one may still fit, unless there is hardly any room.
                let left = self.limit.saturating_sub(state.used());
                self.full.store(left <= self.limit / FULL, Relaxed);
                return Ok(false);
            }
        };
        drop(state);
        // Without the lock: others write their samples meanwhile.
        let written = files::write(&file, offset, sample, bytes);
        let Some(mut state) = self.state() else { return Ok(false) };
        let kept = written.and_then(|sum| {
            let place = Place { file: number, offset, len: bytes.len() as u64, sum };
            state.keep(sample, place, &self.places)
        });
        if !matches!(kept, Ok(true)) {
            state.give_up(number, offset, size);
        }
        kept
    }

    /// The state, which belongs to this process.
    fn state(&self) -> Option<std::sync::MutexGuard<'_, State>> {
        let mut state = self.state.as_ref()?.hold();
        if state.pid != std::process::id()
            && let Err(e) = state.after_fork()
        {
            drop(state);
            self.turn_off(&e);
            return None;
        }
        Some(state)
    }

    /// Keeps nothing any more. Only the first reason is kept.
    fn turn_off(&self, error: &io::Error) {
        let passing = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EINTR, libc::EAGAIN];
        let passes = error.raw_os_error().is_some_and(|code| passing.contains(&code));
        if passes || error.kind() == ErrorKind::TimedOut {
            return;
        }
        let folder = self.options.folder.display();
        let _ = self.off.set(format!(
            "the cache of samples in `{folder}` keeps nothing more: {error}; samples that are not in it are made each time"
        ));
    }

    /// Why nothing is kept any more, if so.
    pub fn warning(&self) -> Option<&str> {
        self.off.get().map(String::as_str)
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        if let Some(state) = &self.state {
            // A child of a fork leaves what belongs to its parent alone, and has nothing to give back.
            let mut state = state.hold();
            state.close(&self.places);
            let users = self.users.hold().take();
            if let Some((own, user)) = users {
                drop(own);
                if !self.options.keeps() && state.pid == std::process::id() {
                    let _ = state.sweep(true, &self.places);
                }
                drop(user);
            }
        }
    }
}

#[cfg(test)]
mod tests;
