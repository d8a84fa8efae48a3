//! Reads byte ranges of one shard, in any store.

use super::limit::BlockLimit;
use infeed_core::{Bytes, Error, Hold, Result, Shard, Store, StoreExt};
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

/// How shards are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Memory-mapped if the store supports it: no copy between page cache and decoder. The file must not
    /// shrink while it is mapped.
    Mapped,
    /// By ranges, in any store.
    Ranges,
}

/// The read-ahead for smaller requests: headers are parsed in small steps, and not every step should be a request.
const AHEAD: u64 = 16 << 10;

/// One shard.
#[derive(Debug)]
pub(crate) struct ShardBytes {
    pub(crate) name: Arc<str>,
    pub(crate) len: u64,
    store: Arc<dyn Store>,
    shard: Shard,
    map: Option<Bytes>,
    /// The limit on the decoded size of one block.
    pub(crate) limit: Arc<BlockLimit>,
    /// The last read-ahead, with its offset.
    ahead: Mutex<(u64, Bytes)>,
}

impl ShardBytes {
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        shard: &Shard,
        how: Reading,
        limit: &Arc<BlockLimit>,
    ) -> Result<Self> {
        let map = match how {
            // An empty file cannot be mapped.
            Reading::Mapped if shard.size > 0 => store.map(shard)?,
            _ => None,
        };
        Ok(ShardBytes {
            name: Arc::clone(&shard.name),
            len: shard.size,
            store: Arc::clone(store),
            shard: shard.clone(),
            map,
            limit: Arc::clone(limit),
            ahead: Mutex::default(),
        })
    }

    /// Whether the bytes are those of a mapped file, which others can change.
    pub(crate) fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// Returns `len` bytes from `start`. Fails if the shard ends earlier.
    pub(crate) fn get(&self, start: u64, len: u64) -> Result<Bytes> {
        let range = self.inside(start, len)?;
        match &self.map {
            Some(map) => self.mapped(map, &range),
            None if len < AHEAD => self.little(range),
            None => self.store.read_one(&self.shard, range),
        }
    }

    /// Reads a short range from the read-ahead buffer, refilling it if necessary.
    fn little(&self, range: Range<u64>) -> Result<Bytes> {
        let part = |start: u64, bytes: &Bytes| {
            let from = usize::try_from(range.start.checked_sub(start)?).ok()?;
            let to = usize::try_from(range.end - start).ok()?;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        };
        {
            let ahead = self.ahead.hold();
            if let Some(found) = part(ahead.0, &ahead.1) {
                return Ok(found);
            }
        }
        // Not while holding the lock: blocks of a shard are read by several threads.
        let bytes = self.store.read_one(&self.shard, range.start..self.len.min(range.start + AHEAD))?;
        *self.ahead.hold() = (range.start, bytes.clone());
        part(range.start, &bytes).ok_or_else(|| self.damaged(range.start, "the store gave too few bytes"))
    }

    /// Reads several ranges, each given by start and length, in one request to the store.
    pub(crate) fn get_all(&self, wanted: &[(u64, u64)]) -> Result<Vec<Bytes>> {
        let ranges: Vec<Range<u64>> =
            wanted.iter().map(|(start, len)| self.inside(*start, *len)).collect::<Result<_>>()?;
        let Some(map) = &self.map else { return self.store.read(&self.shard, &ranges) };
        // Otherwise a mapping is read page by page on access, which is slow on every disk.
        self.store.will_read(&self.shard, &ranges);
        ranges.iter().map(|range| self.mapped(map, range)).collect()
    }

    /// Announces ranges, each given by start and length.
    pub(crate) fn will_read(&self, wanted: &[(u64, u64)]) {
        // Only a hint: a range that is not there is reported when it is read.
        let ranges: Vec<Range<u64>> =
            wanted.iter().filter_map(|(start, len)| self.inside(*start, *len).ok()).collect();
        self.store.will_read(&self.shard, &ranges);
    }

    fn inside(&self, start: u64, len: u64) -> Result<Range<u64>> {
        match start.checked_add(len).filter(|end| *end <= self.len) {
            Some(end) => Ok(start..end),
            None => Err(self.damaged(
                start,
                format!("{len} bytes should be here and the file has {} in all: it was cut off", self.len),
            )),
        }
    }

    fn mapped(&self, map: &Bytes, range: &Range<u64>) -> Result<Bytes> {
        if range.end > map.len() as u64 {
            let what = format!("it had {} bytes when it was listed and has {} now", self.len, map.len());
            return Err(self.damaged(map.len() as u64, what));
        }
        Ok(map.slice(range.start as usize..range.end as usize))
    }

    /// Returns an error that names this shard.
    pub(crate) fn damaged(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::Format { shard: self.name.to_string(), offset, what: what.into() }
    }
}
