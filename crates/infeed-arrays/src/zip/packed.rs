//! Arrays that were deflated: all of one is inflated, whatever is wanted of it.

use super::{Member, Method, data_at};
use crate::{
    array::{Array, Element, Pieces, Plain, Scratch, Slab},
    object::Object,
};
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress};
use infeed_core::{Error, Result, memory};
use std::ops::Range;

/// CRC-32, taken piece by piece.
#[cfg(not(infeed_portable))]
pub(crate) type Crc = Checksum<libdeflater::Crc>;
/// CRC-32, taken piece by piece.
#[cfg(infeed_portable)]
pub(crate) type Crc = Checksum<crc32fast::Hasher>;

/// A checksum over whichever library there is.
pub(crate) struct Checksum<T>(T);

impl Crc {
    #[cfg(not(infeed_portable))]
    pub(crate) fn new() -> Self {
        Checksum(libdeflater::Crc::new())
    }

    #[cfg(infeed_portable)]
    pub(crate) fn new() -> Self {
        Checksum(crc32fast::Hasher::new())
    }

    /// Returns the checksum of bytes and of `len` more behind them, from the checksums of both.
    pub(crate) fn joined(first: u32, second: u32, len: usize) -> u32 {
        let mut all = crc32fast::Hasher::new_with_initial_len(first, 0);
        all.combine(&crc32fast::Hasher::new_with_initial_len(second, len as u64));
        all.finalize()
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    #[cfg(not(infeed_portable))]
    pub(crate) fn sum(&self) -> u32 {
        self.0.sum()
    }

    #[cfg(infeed_portable)]
    pub(crate) fn sum(&self) -> u32 {
        self.0.clone().finalize()
    }
}

/// What inflates whole members; costly to make, so threads keep it.
#[derive(Default)]
pub(crate) struct Inflate {
    #[cfg(not(infeed_portable))]
    inner: Option<libdeflater::Decompressor>,
}

impl std::fmt::Debug for Inflate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inflate")
    }
}

impl Inflate {
    /// Inflates all of a member. `false` if the bytes are damaged or do not give as many.
    #[cfg(not(infeed_portable))]
    pub(super) fn whole(&mut self, input: &[u8], out: &mut [u8]) -> bool {
        let inner = self.inner.get_or_insert_with(libdeflater::Decompressor::new);
        inner.deflate_decompress(input, out).is_ok_and(|made| made == out.len())
    }

    /// Inflates all of a member. `false` if the bytes are damaged or do not give as many.
    #[cfg(infeed_portable)]
    pub(super) fn whole(&mut self, input: &[u8], out: &mut [u8]) -> bool {
        let mut inner = Decompress::new(false);
        let done = inner.decompress(input, out, FlushDecompress::Finish);
        done == Ok(flate2::Status::StreamEnd) && inner.total_out() as usize == out.len()
    }
}

/// Inflates the first bytes of a member: at most `wanted`, and as many if it has them.
pub(crate) fn inflate_head(
    object: &Object,
    member: &Member,
    stored: &Range<u64>,
    wanted: u64,
) -> Result<Bytes> {
    let wanted = usize::try_from(wanted.min(member.size)).unwrap_or(usize::MAX);
    // Headers hardly become larger than they are; what is missing would be found out below.
    let len = (wanted as u64 * 2 + 1024).min(stored.end - stored.start);
    let input = object.get(stored.start..stored.start + len)?;
    let mut out = memory::zeroed::<u8>(wanted)?;
    let mut inner = Decompress::new(false);
    let damaged = || object.damaged(stored.start, format!("member `{}` cannot be inflated", member.name));
    inner.decompress(&input, &mut out, FlushDecompress::None).map_err(|_| damaged())?;
    if inner.total_out() < wanted as u64 {
        return Err(damaged());
    }
    Ok(out.into())
}

/// Reads all of a member, and compares its checksum if it has one.
pub(crate) fn read(object: &Object, member: &Member) -> Result<Bytes> {
    let at = data_at(object, member)?;
    let stored = object.get(at..at + member.packed)?;
    let damaged = |what: &str| object.damaged(at, format!("member `{}` {what}", member.name));
    let out = match member.method {
        Method::Stored => stored,
        Method::Deflated => {
            let mut out = memory::zeroed::<u8>(usize::try_from(member.size).unwrap_or(usize::MAX))?;
            if !Inflate::default().whole(&stored, &mut out) {
                return Err(damaged("cannot be inflated"));
            }
            out.into()
        }
    };
    let mut crc = Crc::new();
    crc.update(&out);
    match member.crc == 0 || crc.sum() == member.crc {
        true => Ok(out),
        false => Err(damaged("has another checksum (CRC-32): the file is damaged")),
    }
}

/// An array in a deflated member.
#[derive(Debug)]
pub(crate) struct Packed {
    /// Where its elements are once it is inflated.
    plain: Plain,
    member: Member,
    stored: Range<u64>,
}

impl Packed {
    pub(crate) fn new(plain: Plain, member: &Member, stored: Range<u64>) -> Self {
        Packed { plain, member: member.clone(), stored }
    }
}

impl Array for Packed {
    fn element(&self) -> Element {
        self.plain.element()
    }

    fn shape(&self) -> &[u64] {
        self.plain.shape()
    }

    fn chunk(&self) -> Option<&[u64]> {
        Some(self.plain.shape())
    }

    fn plan<'a>(&'a self, slab: &'a Slab) -> Result<Box<dyn Pieces + 'a>> {
        Ok(Box::new(All { array: self, inner: self.plain.plan(slab)? }))
    }

    fn texts(&self, elements: &[u8]) -> Result<Vec<String>> {
        self.plain.texts(elements)
    }
}

/// The only piece of any box.
struct All<'a> {
    array: &'a Packed,
    inner: Box<dyn Pieces + 'a>,
}

impl Pieces for All<'_> {
    fn len(&self) -> usize {
        usize::from(!self.inner.is_empty())
    }

    fn range(&self, _: usize) -> Option<Range<u64>> {
        Some(self.array.stored.clone())
    }

    fn place(&self, _: usize, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let mut inflated = std::mem::take(&mut scratch.inflated);
        let all = self.array.member.unpack(stored, &mut scratch.inflate, &mut inflated)?;
        let lost = || Error::Internal { what: "an array outside of its member".to_owned() };
        for piece in 0..self.inner.len() {
            let range = self.inner.range(piece).ok_or_else(lost)?;
            let part = all.get(range.start as usize..range.end as usize).ok_or_else(lost)?;
            self.inner.place(piece, part, out, scratch)?;
        }
        scratch.keep_inflated(inflated);
        Ok(())
    }
}
