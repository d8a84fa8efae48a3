//! Metadata reads: many small ones become few large ones.
//!
//! HDF5 metadata are small structures that point at each other. Read one by one over a remote store, a file with a hundred
//! data sets costs hundreds of round trips. Here every read brings whole aligned blocks, which are kept while they are
//! few; the front of the file, where most metadata lie, comes first and at once.

use crate::{
    cursor::{Cursor, Sizes},
    error::{Error, Result},
    limits::Limits,
    source::ByteSource,
};
use bytes::{Bytes, BytesMut};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// What one block holds.
const BLOCK: u64 = 64 << 10;
/// Structures larger than this are read by themselves and not kept.
const LARGE: u64 = 1 << 20;
/// Blocks that are kept.
const KEPT: usize = 512;

/// The metadata of a file.
pub(crate) struct Meta {
    source: Arc<dyn ByteSource>,
    len: u64,
    /// Where address 0 is: behind a user block.
    pub(crate) base: u64,
    pub(crate) sizes: Sizes,
    pub(crate) limits: Limits,
    blocks: Mutex<HashMap<u64, Bytes>>,
    looked: AtomicU64,
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meta").field("len", &self.len).field("base", &self.base).finish_non_exhaustive()
    }
}

impl Meta {
    pub(crate) fn new(source: Arc<dyn ByteSource>, limits: Limits) -> Self {
        let (len, blocks) = (source.size(), Mutex::new(HashMap::new()));
        let sizes = Sizes { offset: 8, length: 8 };
        Meta { source, len, base: 0, sizes, limits, blocks, looked: AtomicU64::new(0) }
    }

    /// Length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// An address of the file's metadata as a place in the file, with `len` bytes behind it.
    pub(crate) fn place(&self, address: u64, len: u64) -> Result<u64> {
        let start = address.checked_add(self.base);
        let end = start.and_then(|start| start.checked_add(len));
        match (start, end) {
            (Some(start), Some(end)) if end <= self.len => Ok(start),
            (_, end) => Err(Error::Truncated { needs: end.unwrap_or(u64::MAX), has: self.len }),
        }
    }

    /// `len` bytes at an address.
    pub(crate) fn read(&self, address: u64, len: u64) -> Result<Bytes> {
        let start = self.place(address, len)?;
        let before = self.looked.fetch_add(len, Ordering::Relaxed);
        let limit = self.limits.max_metadata;
        if before.saturating_add(len) > limit {
            return Err(Error::TooLarge { what: "metadata", size: before.saturating_add(len), limit });
        }
        if len > LARGE { self.fetch(start, len) } else { self.gather(start, start + len) }
    }

    /// A reader over `len` bytes at an address.
    pub(crate) fn cursor<'a>(&self, data: &'a [u8], address: u64, what: &'static str) -> Cursor<'a> {
        Cursor::new(data, address, self.sizes, what)
    }

    fn fetch(&self, start: u64, len: u64) -> Result<Bytes> {
        let bytes = self.source.read(start..start + len).map_err(Error::Read)?;
        if bytes.len() as u64 != len {
            return Err(Error::Truncated { needs: start + len, has: start + bytes.len() as u64 });
        }
        Ok(bytes)
    }

    /// Bytes out of blocks; those that are missing are fetched together.
    fn gather(&self, start: u64, end: u64) -> Result<Bytes> {
        if start == end {
            return Ok(Bytes::new());
        }
        let (first, last) = (start / BLOCK, (end - 1) / BLOCK);
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |blocks: &HashMap<u64, Bytes>, at: &u64| !blocks.contains_key(at);
        if let Some(from) = (first..=last).find(|at| missing(&blocks, at)) {
            let to = (from..=last).rev().find(|at| missing(&blocks, at)).unwrap_or(from);
            if blocks.len() >= KEPT {
                blocks.clear();
            }
            let (from, to) = if blocks.is_empty() { (first, last) } else { (from, to) };
            let place = from * BLOCK;
            let bytes = self.fetch(place, self.len.min((to + 1) * BLOCK) - place)?;
            for at in from..=to {
                let inside = ((at - from) * BLOCK) as usize;
                blocks.insert(at, bytes.slice(inside..bytes.len().min(inside + BLOCK as usize)));
            }
        }
        let cut = |at: u64| -> Result<Bytes> {
            let block = blocks.get(&at).ok_or_else(|| Error::damaged("a block of metadata is gone"))?;
            let from = start.saturating_sub(at * BLOCK) as usize;
            Ok(block.slice(from..((end - at * BLOCK) as usize).min(block.len())))
        };
        if first == last {
            return cut(first);
        }
        let mut out = BytesMut::with_capacity((end - start) as usize);
        for at in first..=last {
            out.extend_from_slice(&cut(at)?);
        }
        Ok(out.freeze())
    }

    /// Bytes of the data themselves: never kept, not counted as metadata.
    pub(crate) fn data(&self, range: std::ops::Range<u64>) -> Result<Bytes> {
        if range.start > range.end || range.end > self.len {
            return Err(Error::Truncated { needs: range.end, has: self.len });
        }
        self.fetch(range.start, range.end - range.start)
    }
}
