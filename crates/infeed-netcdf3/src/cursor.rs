//! Takes numbers and names out of a header. All of them are big-endian, and everything is filled up to 4 bytes.

use crate::{
    error::{Error, Result},
    source::{ByteSource, Limits},
};
use bytes::Bytes;

/// A place in a header of which only the front has been read so far.
pub(crate) struct Cursor<'a> {
    source: &'a dyn ByteSource,
    data: Bytes,
    at: usize,
    limits: Limits,
    /// Counts and lengths have 8 bytes.
    pub(crate) wide: bool,
}

/// Bytes that are read at first: enough for most headers.
const FRONT: u64 = 64 << 10;

impl<'a> Cursor<'a> {
    pub(crate) fn new(source: &'a dyn ByteSource, limits: Limits) -> Result<Cursor<'a>> {
        let data = source.read(0..source.size().min(FRONT)).map_err(Error::Read)?;
        Ok(Cursor { source, data, at: 0, limits, wide: false })
    }

    /// What is wrong, with the place.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), at: self.at as u64 }
    }

    /// Bytes that the header can still have.
    fn left(&self) -> u64 {
        self.source.size().min(self.limits.max_header).saturating_sub(self.at as u64)
    }

    pub(crate) fn take(&mut self, len: u64) -> Result<Bytes> {
        let end = (self.at as u64).saturating_add(len);
        if len > self.left() {
            let (size, limit) = (end, self.limits.max_header);
            return Err(match size > limit && limit < self.source.size() {
                true => Error::TooLarge { what: "a header", size, limit },
                false => Error::Truncated { needs: end, has: self.source.size() },
            });
        }
        if end > self.data.len() as u64 {
            // Headers are read again with twice their length, so that few reads are made.
            let more = (end.max(self.data.len() as u64 * 2)).min(self.source.size());
            self.data = self.source.read(0..more).map_err(Error::Read)?;
        }
        let found = self.data.slice(self.at..end as usize);
        self.at = end as usize;
        Ok(found)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        let bytes = self.take(4)?;
        Ok(bytes.iter().fold(0, |all, &byte| all << 8 | u32::from(byte)))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    /// A count or a length.
    pub(crate) fn count(&mut self) -> Result<u64> {
        if self.wide { self.u64() } else { Ok(u64::from(self.u32()?)) }
    }

    /// A count of things that have at least so many bytes each in the header.
    pub(crate) fn things(&mut self, each: u64) -> Result<u64> {
        let count = self.count()?;
        if count.saturating_mul(each) > self.left() {
            return Err(self.wrong(format!("{count} things do not fit into the rest of the header")));
        }
        Ok(count)
    }

    /// Bytes that are filled up to 4.
    pub(crate) fn padded(&mut self, len: u64) -> Result<Bytes> {
        let found = self.take(len)?;
        self.take(len.wrapping_neg() % 4)?;
        Ok(found)
    }

    pub(crate) fn name(&mut self) -> Result<String> {
        let len = self.things(1)?;
        Ok(String::from_utf8_lossy(&self.padded(len)?).into_owned())
    }

    /// The head of a list: its tag, or zeros where there is none.
    pub(crate) fn list(&mut self, tag: u32, each: u64) -> Result<u64> {
        let found = self.u32()?;
        let count = self.things(each)?;
        if found != tag && (found != 0 || count != 0) {
            return Err(self.wrong(format!("a list begins with {found} and not with {tag}")));
        }
        Ok(count)
    }
}
