//! What one process knows of the shelves in a folder, and the file that it writes to.

use super::{
    files::{self, Files},
    log::{Event, Log, Place, RECORD, Record},
};
use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::SystemTime,
};

/// The name of the lock that users of a shelf share.
pub(super) const USERS: &str = "users";
/// Grants are so many parts of the limit: asking for every sample would make processes wait for each other.
const GRANTS: u64 = 256;

/// The samples of a shelf and where they lie. Lookups do not wait for those who write.
pub(super) type Places = RwLock<HashMap<u128, Place>>;

/// What came of the wish to keep a sample.
#[derive(Debug)]
pub(super) enum Reserved {
    /// Write it there: the file, its number, and where in it.
    At(Arc<File>, u32, u64),
    /// Somebody has kept it meanwhile.
    There,
    /// The limit is reached.
    NoRoom,
}

/// What a process knows and owns.
#[derive(Debug)]
pub(super) struct State {
    /// A child of a fork has the parent's locks and must not write to its files.
    pub(super) pid: u32,
    pub(super) root: PathBuf,
    shelf: u128,
    limit: u64,
    pub(super) log: Log,
    /// Bytes granted to each shelf.
    pub(super) granted: HashMap<u128, u64>,
    /// Bytes that this process may still write.
    allowance: u64,
    pub(super) files: Files,
}

impl State {
    pub(super) fn open(root: PathBuf, shelf: u128, limit: u64, places: &Places) -> io::Result<State> {
        let log = Log::open(&root)?;
        let files = Files::new(files::folder(&root, shelf), limit);
        let mut state = State {
            pid: std::process::id(),
            root,
            shelf,
            limit,
            log,
            granted: HashMap::new(),
            allowance: 0,
            files,
        };
        state.locked(places, |_, _| Ok(()))?;
        Ok(state)
    }

    pub(super) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
        self.files.set_limit(limit);
    }

    /// Bytes granted to all shelves.
    pub(super) fn used(&self) -> u64 {
        self.granted.values().sum()
    }

    /// Learns what others have done. `true` if room may have become free.
    pub(super) fn refresh(&mut self, places: &Places) -> io::Result<bool> {
        let news = self.log.news()?;
        let mut freed = news.anew;
        if news.anew {
            self.granted.clear();
            places.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        if news.records.is_empty() {
            return Ok(freed);
        }
        let mut places = places.write().unwrap_or_else(PoisonError::into_inner);
        for record in &news.records {
            freed |= matches!(record.event, Event::Gone | Event::Returned);
            self.apply(record, &mut places);
        }
        Ok(freed)
    }

    pub(super) fn apply(&mut self, record: &Record, places: &mut HashMap<u128, Place>) {
        let granted = self.granted.entry(record.shelf).or_default();
        match record.event {
            Event::Granted => *granted = granted.saturating_add(record.place.len),
            Event::Returned => *granted = granted.saturating_sub(record.place.len),
            Event::Gone => *granted = 0,
            Event::Kept if record.shelf == self.shelf => {
                self.files.count(&record.place);
                places.insert(record.sample, record.place);
            }
            Event::Kept => {}
        }
    }

    /// Does something with the lock held and everything known that others have done. What it adds to the list is written down.
    pub(super) fn locked<T>(
        &mut self,
        places: &Places,
        work: impl FnOnce(&mut State, &mut Vec<Record>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.log.lock()?;
        let done = self.refresh(places).and_then(|_| {
            let mut records = Vec::new();
            let done = work(self, &mut records)?;
            self.log.append(&records)?;
            Ok((done, records))
        });
        self.log.unlock();
        let (done, records) = done?;
        if !records.is_empty() {
            let mut places = places.write().unwrap_or_else(PoisonError::into_inner);
            records.iter().for_each(|record| self.apply(record, &mut places));
        }
        Ok(done)
    }

    /// Takes a place for a sample whose bytes, with all that belongs to them, are `size`.
    pub(super) fn reserve(&mut self, sample: u128, size: u64, places: &Places) -> io::Result<Reserved> {
        let needed = size + RECORD as u64;
        if self.allowance < needed {
            let granted = self.locked(places, |state, records| {
                let more = needed - state.allowance;
                // Near the limit, others get their share too.
                let left = state.limit.saturating_sub(state.used());
                let wish = more.max((state.limit / GRANTS).min(left / 8));
                if state.used().saturating_add(more) > state.limit {
                    state.reclaim(more, records);
                }
                let left = state.limit.saturating_sub(state.used_after(records));
                if more > left {
                    return Ok(0);
                }
                let wish = wish.min(left);
                records.push(Record::bytes(Event::Granted, state.shelf, wish));
                Ok(wish)
            })?;
            if granted == 0 {
                return Ok(Reserved::NoRoom);
            }
            self.allowance += granted;
        }
        if !self.files.has_room(size) {
            // With the lock: two processes must not take one file.
            self.locked(places, |state, _| state.files.next())?;
        }
        if places.read().unwrap_or_else(PoisonError::into_inner).contains_key(&sample) {
            return Ok(Reserved::There);
        }
        self.allowance -= needed;
        let (file, number, offset) = self.files.reserve(size)?;
        Ok(Reserved::At(file, number, offset))
    }

    fn used_after(&self, records: &[Record]) -> u64 {
        let gone = |record: &&Record| record.event == Event::Gone;
        let freed: u64 =
            records.iter().filter(gone).filter_map(|record| self.granted.get(&record.shelf)).sum();
        self.used() - freed
    }

    /// Nothing came of a place.
    pub(super) fn give_up(&mut self, file: u32, offset: u64, size: u64) {
        // What lies before others is lost until the shelf is removed; the bytes stay counted.
        if self.files.give_back(file, offset, size) {
            self.allowance += size + RECORD as u64;
        }
    }

    /// Writes down that samples are there.
    pub(super) fn keep(&mut self, sample: u128, place: Place, places: &Places) -> io::Result<bool> {
        let shelf = self.shelf;
        self.locked(places, |_, records| {
            let there = places.read().unwrap_or_else(PoisonError::into_inner).contains_key(&sample);
            if !there {
                records.push(Record { event: Event::Kept, shelf, sample, place });
            }
            Ok(!there)
        })
    }

    /// Removes shelves that nobody uses, the oldest first, until so many bytes are free.
    fn reclaim(&mut self, needed: u64, records: &mut Vec<Record>) {
        let mut unused: Vec<(SystemTime, u128)> = files::shelves(&self.root)
            .into_iter()
            .filter(|shelf| *shelf != self.shelf)
            .map(|shelf| (files::last_used(&self.root, shelf), shelf))
            .collect();
        unused.sort_unstable();
        for (_, shelf) in unused {
            if self.used_after(records).saturating_add(needed) <= self.limit {
                break;
            }
            if files::remove_unused(&self.root, shelf) {
                records.push(Record::bytes(Event::Gone, shelf, 0));
            }
        }
    }

    /// Removes all other shelves that nobody uses, and with `own` this one.
    pub(super) fn sweep(&mut self, own: bool, places: &Places) -> io::Result<()> {
        self.locked(places, |state, records| {
            for shelf in files::shelves(&state.root) {
                if (shelf != state.shelf || own) && files::remove_unused(&state.root, shelf) {
                    records.push(Record::bytes(Event::Gone, shelf, 0));
                }
            }
            Ok(())
        })
    }

    /// Gives back what was granted and not used.
    pub(super) fn close(&mut self, places: &Places) {
        let unused = std::mem::take(&mut self.allowance);
        if unused > 0 && self.pid == std::process::id() {
            let shelf = self.shelf;
            // What cannot be written down is found when the shelf is next opened by one process alone.
            let _ = self.locked(places, |_, records| {
                records.push(Record::bytes(Event::Returned, shelf, unused));
                Ok(())
            });
        }
        self.files.close();
    }

    /// Starts again after a fork, with locks and files of its own.
    pub(super) fn after_fork(&mut self) -> io::Result<()> {
        self.log = Log::open(&self.root)?.continued(&self.log);
        self.files.close();
        (self.pid, self.allowance) = (std::process::id(), 0);
        Ok(())
    }

    /// Says that a shelf is used now, for those who look for the oldest.
    pub(super) fn note_use(&self) {
        let about = files::folder(&self.root, self.shelf).join(files::ABOUT);
        if let Ok(file) = File::options().write(true).open(about) {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// The lock of the users of this shelf, shared; the folder is made if need be.
    pub(super) fn enter(&mut self, about: &[u8], places: &Places) -> io::Result<File> {
        self.locked(places, |state, _| {
            let folder = files::folder(&state.root, state.shelf);
            fs::create_dir_all(&folder)?;
            let users = folder.join(USERS);
            let file = File::options().read(true).write(true).create(true).truncate(false).open(users)?;
            // Only those who hold the lock of the log take it alone.
            file.lock_shared()?;
            let text = folder.join(files::ABOUT);
            if !text.exists() {
                let aside = folder.join(format!("{}.part", files::ABOUT));
                fs::write(&aside, about)?;
                fs::rename(aside, text)?;
            }
            Ok(file)
        })
    }
}
