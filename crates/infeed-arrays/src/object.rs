//! The bytes of one file: mapped, or read by ranges.

use crate::{
    array::{Array, Pieces, Scratch, Seal, Slab},
    shared::read_shared,
    zip::Crc,
};
use bytes::Bytes;
use infeed_core::{Error, Result, Shard, Store, StoreExt, memory};
use std::{ops::Range, sync::Arc};

/// Bytes of pieces that are held at a time while a box is read.
const HELD: u64 = 32 << 20;
/// Pieces from this size on are read to where they belong, without a buffer between.
const LARGE: u64 = 64 << 10;
/// Bytes that are read before their checksum is taken, so that it finds them in a cache.
const STEP: usize = 256 << 10;

/// A file.
#[derive(Debug)]
pub(crate) struct Object {
    store: Arc<dyn Store>,
    shard: Shard,
    /// All of it, if it is mapped.
    held: Option<Bytes>,
    /// Whether its store is not far away.
    near: bool,
}

impl Object {
    pub(crate) fn new(store: &Arc<dyn Store>, shard: Shard) -> Self {
        let near = store.room_ahead().is_none();
        Object { store: Arc::clone(store), shard, held: None, near }
    }

    /// Maps it, if its store can do that.
    pub(crate) fn map(&mut self) -> Result<()> {
        let held = self.store.map(&self.shard)?;
        if let Some(bytes) = &held
            && bytes.len() as u64 != self.shard.size
        {
            let what = format!("it had {} bytes and has {} now", self.shard.size, bytes.len());
            return Err(Error::Changed { path: self.shard.name.to_string(), what });
        }
        self.held = held;
        Ok(())
    }

    pub(crate) fn shard(&self) -> &Shard {
        &self.shard
    }

    pub(crate) fn name(&self) -> &str {
        &self.shard.name
    }

    pub(crate) fn size(&self) -> u64 {
        self.shard.size
    }

    /// Returns an error about what was found in it.
    pub(crate) fn damaged(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::Format { shard: self.shard.name.to_string(), offset, what: what.into() }
    }

    /// Returns the bytes of a range.
    pub(crate) fn get(&self, range: Range<u64>) -> Result<Bytes> {
        match &self.held {
            Some(held) => self.part(held, &range),
            None => self.store.read_one(&self.shard, range),
        }
    }

    /// Returns mapped bytes, without making them a value of their own; `None` if it is not mapped.
    pub(crate) fn peek(&self, at: u64, len: usize) -> Option<&[u8]> {
        let at = usize::try_from(at).ok()?;
        self.held.as_ref()?.get(at..at.checked_add(len)?)
    }

    fn part(&self, held: &Bytes, range: &Range<u64>) -> Result<Bytes> {
        let inside = range.start <= range.end && range.end <= held.len() as u64;
        if !inside {
            return Err(self.damaged(range.start, "elements lie behind the end of the file"));
        }
        Ok(held.slice(range.start as usize..range.end as usize))
    }

    /// Reads into memory of the caller.
    pub(crate) fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        match self.peek(start, out.len()) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => self.store.read_into(&self.shard, start, out)?,
        }
        Ok(())
    }

    /// Reads into memory of the caller, with other threads if that is much.
    pub(crate) fn read_large(&self, start: u64, out: &mut [u8]) -> Result<()> {
        read_shared(out, |from, out| self.read_into(start + from as u64, out))?;
        Ok(())
    }

    /// Reads several ranges at once.
    pub(crate) fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match &self.held {
            Some(held) => ranges.iter().map(|range| self.part(held, range)).collect(),
            None => self.store.read(&self.shard, ranges),
        }
    }

    /// Whether bytes of this many are best read to where they belong.
    pub(crate) fn goes_straight(&self, bytes: u64) -> bool {
        self.held.is_some() || self.near && bytes >= LARGE
    }

    pub(crate) fn will_read(&self, ranges: &[Range<u64>]) {
        self.store.will_read(&self.shard, ranges);
    }

    /// Reads bytes to where they belong; with a checksum, in steps that stay in a cache.
    fn straight(&self, start: u64, out: &mut [u8], seal: Option<Seal>) -> Result<()> {
        let Some(seal) = seal else { return self.read_large(start, out) };
        let sums = read_shared(out, |from, out| {
            let (mut crc, mut at) = (Crc::new(), start + from as u64);
            for step in out.chunks_mut(STEP) {
                self.read_into(at, step)?;
                crc.update(step);
                at += step.len() as u64;
            }
            Ok(crc.sum())
        })?;
        let mut whole = Crc::new();
        whole.update(&seal.head);
        let whole = sums.iter().fold(whole.sum(), |whole, (sum, len)| Crc::joined(whole, *sum, *len));
        if whole != seal.crc {
            return Err(Error::sample("its checksum (CRC-32) is wrong: the file is damaged"));
        }
        Ok(())
    }
}

/// Reads a box of an array into `out`. `objects` begins with the first one of the array.
pub(crate) fn fill(
    objects: &[Object],
    array: &dyn Array,
    slab: &Slab,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    if let Some(scaled) = array.scaled() {
        let elements = usize::try_from(slab.elements()).unwrap_or(usize::MAX);
        let size = elements.saturating_mul(scaled.inner().element().size());
        let mut stored = std::mem::take(&mut scratch.stored);
        memory::resize(&mut stored, size)?;
        let filled = fill(objects, scaled.inner(), slab, &mut stored, scratch);
        let converted = filled.and_then(|()| scaled.convert(&stored, out));
        scratch.stored = stored;
        return converted;
    }
    let pieces = array.plan(slab)?;
    let (mut wanted, mut held) = (Vec::new(), 0);
    for piece in 0..pieces.len() {
        let Some(range) = pieces.range(piece) else {
            pieces.place(piece, &[], out, scratch)?;
            continue;
        };
        let lost = || Error::Internal { what: "a piece of an array in no object".to_owned() };
        let object = objects.get(pieces.object(piece)).ok_or_else(lost)?;
        let len = range.end.saturating_sub(range.start);
        if let Some(to) = pieces.straight(piece)
            && (pieces.seal(piece).is_some() || object.goes_straight(len))
            && let Some(out) = out.get_mut(to)
        {
            object.straight(range.start, out, pieces.seal(piece))?;
            continue;
        }
        held += len;
        wanted.push((piece, object, range));
        if held >= HELD {
            place(&*pieces, &mut wanted, out, scratch)?;
            held = 0;
        }
    }
    place(&*pieces, &mut wanted, out, scratch)
}

/// Reads pieces, those of one object at once, and puts them to their places.
fn place(
    pieces: &dyn Pieces,
    wanted: &mut Vec<(usize, &Object, Range<u64>)>,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    for same in wanted.chunk_by(|a, b| std::ptr::eq(a.1, b.1)) {
        let ranges: Vec<Range<u64>> = same.iter().map(|(_, _, range)| range.clone()).collect();
        let Some((_, object, _)) = same.first() else { continue };
        for ((piece, ..), bytes) in same.iter().zip(&object.read(&ranges)?) {
            pieces.place(*piece, bytes, out, scratch)?;
        }
    }
    wanted.clear();
    Ok(())
}
