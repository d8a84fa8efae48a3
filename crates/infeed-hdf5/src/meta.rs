//! Metadata reads: many small ones become few large ones.
//!
//! HDF5 metadata are small structures that point at each other. Read one by one over a remote store, a file with a hundred
//! data sets costs hundreds of round trips. Here every read brings whole aligned blocks, which are kept while they are
//! few; the front of the file, where most metadata lie, comes first and at once. Where one structure names many others, as nodes of
//! trees do, they are asked for together ([`Meta::ahead`]); where the same is done with many objects, each step of all of them is
//! ([`Meta::together`]).

use crate::{
    cursor::{Cursor, Sizes},
    error::{Error, Result},
    limits::Limits,
    source::ByteSource,
};
use bytes::{Bytes, BytesMut};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// What one block holds.
const BLOCK: u64 = 64 << 10;
/// Structures larger than this are read by themselves and not kept.
const LARGE: u64 = 1 << 20;
/// Blocks that are kept.
const KEPT: usize = 512;
/// Structures that are asked for together, and the bytes of those that wait to be read.
pub(crate) const TOGETHER: usize = 1024;
const WAITING: usize = 64 << 20;
/// What is asked for where only the first bytes of a structure are known to be needed: the rest often comes next.
const LEAST: u64 = 1 << 10;
/// Steps of many objects that are taken together. What needs more goes on alone.
const STEPS: usize = 64;

/// The metadata of a file.
pub(crate) struct Meta {
    source: Arc<dyn ByteSource>,
    len: u64,
    /// Where address 0 is: behind a user block.
    pub(crate) base: u64,
    pub(crate) sizes: Sizes,
    pub(crate) limits: Limits,
    blocks: Mutex<HashMap<u64, Bytes>>,
    /// What was asked for ahead, by its place.
    early: Mutex<BTreeMap<u64, Bytes>>,
    /// Address and length of what is not here, while many objects are looked at.
    missing: Mutex<Option<Vec<(u64, u64)>>>,
    looked: AtomicU64,
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meta").field("len", &self.len).field("base", &self.base).finish_non_exhaustive()
    }
}

impl Meta {
    pub(crate) fn new(source: Arc<dyn ByteSource>, limits: Limits) -> Self {
        let sizes = Sizes { offset: 8, length: 8 };
        Meta {
            len: source.size(),
            source,
            base: 0,
            sizes,
            limits,
            blocks: Mutex::default(),
            early: Mutex::default(),
            missing: Mutex::default(),
            looked: AtomicU64::new(0),
        }
    }

    /// Does the same with many objects. Where the source is far away, none of them waits for its bytes: the work is begun with all of
    /// them, what they miss is asked for at once, and then it is begun again. So it must do nothing but read.
    pub(crate) fn together<T, E>(
        &self,
        count: usize,
        mut work: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let mut out: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let steps = if self.source.is_far() && count > 1 { STEPS } else { 0 };
        for _ in 0..steps {
            let mut wanted = Vec::new();
            for (at, out) in out.iter_mut().enumerate().filter(|(_, out)| out.is_none()) {
                *self.misses() = Some(Vec::new());
                let made = work(at);
                let missed = self.misses().take().unwrap_or_default();
                if missed.is_empty() {
                    *out = Some(made?);
                }
                wanted.extend(missed);
                if wanted.len() >= TOGETHER {
                    break;
                }
            }
            if wanted.is_empty() {
                break;
            }
            wanted.sort_unstable();
            wanted.dedup();
            self.ask(wanted.into_iter().map(|(address, len)| (address, len.max(LEAST))));
        }
        out.into_iter().enumerate().map(|(at, out)| out.map_or_else(|| work(at), Ok)).collect()
    }

    fn misses(&self) -> MutexGuard<'_, Option<Vec<(u64, u64)>>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for structures that will be read next, by address and length, all at once. A hint: near sources need none, and what is wrong
    /// with it is told by the read.
    pub(crate) fn ahead(&self, wanted: impl IntoIterator<Item = (u64, u64)>) {
        // Many objects at once ask for more than one alone would.
        if self.source.is_far() && self.misses().is_none() {
            self.ask(wanted);
        }
    }

    fn ask(&self, wanted: impl IntoIterator<Item = (u64, u64)>) {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        // Lengths are claims.
        let mut left = WAITING as u64;
        let inside = |(address, len): (u64, u64)| {
            let start = address.checked_add(self.base).filter(|start| *start < self.len)?;
            let end = start.saturating_add(len.min(LARGE).min(left)).min(self.len);
            let is_here =
                (start / BLOCK..=end.saturating_sub(1).max(start) / BLOCK).all(|at| blocks.contains_key(&at));
            left -= if is_here { 0 } else { end - start };
            (!is_here && start < end).then_some(start..end)
        };
        let ranges: Vec<_> = wanted.into_iter().take(TOGETHER).filter_map(inside).collect();
        drop(blocks);
        if ranges.is_empty() {
            return;
        }
        let Ok(found) = self.source.read_many(&ranges) else { return };
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        if early.values().map(Bytes::len).sum::<usize>() > WAITING {
            early.clear();
        }
        // Copied, because a store may have read them together with what lies between them.
        let copied = found.iter().map(|bytes| Bytes::copy_from_slice(bytes));
        early.extend(ranges.iter().map(|range| range.start).zip(copied));
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
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, bytes)) = early.range(..=start).next_back()
            && start - at + len <= bytes.len() as u64
        {
            return Ok(bytes.slice((start - at) as usize..(start - at + len) as usize));
        }
        drop(early);
        if len > 0
            && let Some(missing) = &mut *self.misses()
            && !self.has_blocks(start, start + len)
        {
            missing.push((address, len));
            return Err(Error::Read("it was not asked for yet".into()));
        }
        if len > LARGE { self.fetch(start, len) } else { self.gather(start, start + len) }
    }

    fn has_blocks(&self, start: u64, end: u64) -> bool {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        (start / BLOCK..=(end - 1) / BLOCK).all(|at| blocks.contains_key(&at))
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
