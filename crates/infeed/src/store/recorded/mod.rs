//! What was read while data was opened, kept for the next run.
//!
//! Opening a file reads its footer, its tree of chunks, the headers of its arrays: small structures that point at each other, so
//! that a store which is far away is asked again and again, and waited for each time. The next run would read the same bytes. A
//! [`RecordedStore`] writes them down, and answers from what was written down, as long as the object is still the one that it was: its
//! size and its tag are asked for anew in every run.
//!
//! Formats need not know of it. Those that look for rows in all of their bytes keep indices of their own, which are smaller.

mod book;

use book::Book;
use bytes::Bytes;
use infeed_core::{Cache, Found, Hold, Result, Shard, Stamp, Store};
use std::{
    collections::HashMap,
    io::Read,
    ops::Range,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Larger reads are those of data.
const LARGEST: u64 = 1 << 20;
/// What is kept of the data, at most: one part in so many, and so many bytes.
const SHARE: u64 = 20;
const MOST: u64 = 256 << 20;
/// What may be kept of small data.
const ALWAYS: u64 = 4 << 20;
/// Opening that is quicker is not written down.
const PATIENCE: Duration = Duration::from_millis(50);

/// A store that remembers what was read of it while data was opened.
#[derive(Debug)]
pub struct RecordedStore {
    inner: Arc<dyn Store>,
    file: PathBuf,
    since: Instant,
    /// Whether data is being opened. Afterwards every read goes straight to the store.
    opening: AtomicBool,
    book: Mutex<Book>,
    /// What was listed since, so that detecting a format and opening it ask once.
    lists: Once<Vec<Shard>>,
    names: Once<Vec<String>>,
    found: Once<Vec<Found>>,
}

/// Answers by what was asked.
type Once<T> = Mutex<HashMap<String, T>>;

impl RecordedStore {
    /// Answers from what a file has, if it is there and whole.
    pub fn open(inner: Arc<dyn Store>, file: PathBuf) -> Arc<Self> {
        let book = Mutex::new(Book::read(&file).unwrap_or_default());
        Arc::new(RecordedStore {
            inner,
            file,
            since: Instant::now(),
            opening: AtomicBool::new(true),
            book,
            lists: Mutex::default(),
            names: Mutex::default(),
            found: Mutex::default(),
        })
    }

    /// Ends the recording. What was read to find the format is kept: the format has an index of its own for the rest.
    pub fn stop(&self) {
        self.opening.store(false, Relaxed);
        self.lists.hold().clear();
        self.names.hold().clear();
        self.found.hold().clear();
    }

    /// Asks, if nobody has asked before while data was being opened.
    fn once<T: Clone>(&self, known: &Once<T>, what: &str, ask: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.opening.load(Relaxed) {
            return ask();
        }
        if let Some(known) = known.hold().get(what) {
            return Ok(known.clone());
        }
        let answer = ask()?;
        known.hold().insert(what.to_owned(), answer.clone());
        Ok(answer)
    }

    /// Ends the recording. What is new is saved, if opening took its time and it is little beside the data, of which there are so many
    /// bytes. A place that cannot be written to is no error: then the next run reads again.
    pub fn close(&self, data: u64) {
        self.stop();
        let book = std::mem::take(&mut *self.book.hold());
        let most = (data / SHARE + ALWAYS).min(MOST);
        if book.is_news() && book.bytes() <= most && self.since.elapsed() >= PATIENCE {
            let _ = book.write(&self.file);
        }
    }
}

impl Store for RecordedStore {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.once(&self.lists, prefix, || self.inner.list(prefix))
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.inner.stat(names)
    }

    fn probe(&self, names: &[String]) -> Result<Vec<Option<Shard>>> {
        self.inner.probe(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let identity = if self.opening.load(Relaxed) { Stamp::of(shard) } else { None };
        let Some(identity) = identity.map(Stamp::get) else { return self.inner.read(shard, ranges) };
        let mut found: Vec<Option<Bytes>> = {
            let mut book = self.book.hold();
            ranges.iter().map(|range| book.get(identity, range)).collect()
        };
        let missing = ranges.iter().zip(&found).filter(|(_, found)| found.is_none());
        let missing: Vec<Range<u64>> = missing.map(|(range, _)| range.clone()).collect();
        let read = if missing.is_empty() { Vec::new() } else { self.inner.read(shard, &missing)? };
        let mut book = self.book.hold();
        for (range, bytes) in missing.iter().zip(&read) {
            if range.end.saturating_sub(range.start) <= LARGEST && book.bytes() < MOST {
                book.add(identity, range.start, bytes);
            }
        }
        drop(book);
        let mut read = read.into_iter();
        Ok(found.iter_mut().filter_map(|found| found.take().or_else(|| read.next())).collect())
    }

    fn read_into(&self, shard: &Shard, start: u64, out: &mut [u8]) -> Result<()> {
        self.inner.read_into(shard, start, out)
    }

    fn network(&self, name: &str) -> Option<&'static str> {
        self.inner.network(name)
    }

    fn will_read(&self, shard: &Shard, ranges: &[Range<u64>]) {
        self.inner.will_read(shard, ranges);
    }

    fn room_ahead(&self) -> Option<u64> {
        self.inner.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.inner.ahead_for(run, step, done);
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn forget_ahead(&self) {
        self.inner.forget_ahead();
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.inner.set_memory(bytes);
    }

    fn map(&self, shard: &Shard) -> Result<Option<Bytes>> {
        self.inner.map(shard)
    }

    fn stream(&self, shard: &Shard, from: u64) -> Result<Option<Box<dyn Read + Send>>> {
        self.inner.stream(shard, from)
    }

    fn read_below(&self, names: &[String], folders: &[String], limit: u64) -> Result<Vec<Bytes>> {
        self.inner.read_below(names, folders, limit)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        self.once(&self.names, folder, || self.inner.names(folder))
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        self.once(&self.found, path, || self.inner.find(path))
    }

    fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.inner.put(name, bytes)
    }

    fn cache(&self) -> Option<&dyn Cache> {
        self.inner.cache()
    }

    fn local_path(&self, name: &str) -> Option<PathBuf> {
        self.inner.local_path(name)
    }
}

#[cfg(test)]
mod tests;
