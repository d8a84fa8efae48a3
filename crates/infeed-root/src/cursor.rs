//! Takes numbers and texts out of bytes. All numbers of ROOT files are big-endian.

use crate::error::{Error, Result};

/// A place in some bytes.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
    /// Where the bytes begin in the file.
    base: u64,
    /// Whether they were compressed there, so that places inside them are not places of the file.
    packed: bool,
}

impl<'a> Cursor<'a> {
    /// Over bytes of the file.
    pub(crate) fn new(data: &'a [u8], base: u64) -> Self {
        Cursor { data, at: 0, base, packed: false }
    }

    /// Over bytes that were unpacked from what lies at `base`.
    pub(crate) fn unpacked(data: &'a [u8], base: u64) -> Self {
        Cursor { data, at: 0, base, packed: true }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.data.len() - self.at
    }

    /// What is wrong, with the place.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> Error {
        let inside = if self.packed { 0 } else { self.at as u64 };
        Error::damaged(self.base.saturating_add(inside), what)
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        match self.data[self.at..].get(..len) {
            Some(found) => {
                self.at += len;
                Ok(found)
            }
            None => Err(self.wrong(format!("{len} bytes should follow and {} are there", self.left()))),
        }
    }

    /// Goes to a place of the bytes.
    pub(crate) fn go(&mut self, at: usize) -> Result<()> {
        if at > self.data.len() {
            return Err(self.wrong(format!("a length leads {} bytes behind the end", at - self.data.len())));
        }
        self.at = at;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| self.wrong("too few bytes"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// A number of `what` that cannot be negative.
    pub(crate) fn count(&mut self, what: &str) -> Result<usize> {
        let number = self.i32()?;
        usize::try_from(number).map_err(|_| self.wrong(format!("{number} {what}")))
    }

    /// A number of `what` in 8 bytes that cannot be negative.
    pub(crate) fn long(&mut self, what: &str) -> Result<u64> {
        let number = self.u64()?;
        if number > i64::MAX as u64 {
            return Err(self.wrong(format!("{} {what}", number as i64)));
        }
        Ok(number)
    }

    /// A place in the file, of 8 bytes in large files.
    pub(crate) fn seek(&mut self, wide: bool) -> Result<u64> {
        if wide { self.u64() } else { self.u32().map(u64::from) }
    }

    /// A text with its length before it.
    pub(crate) fn text(&mut self) -> Result<String> {
        let len = match self.u8()? {
            255 => self.u32()? as usize,
            len => usize::from(len),
        };
        Ok(String::from_utf8_lossy(self.take(len)?).into_owned())
    }

    /// A text with a zero behind it.
    pub(crate) fn zero_text(&mut self) -> Result<String> {
        let rest = &self.data[self.at..];
        // Names of classes are shorter.
        let end = rest.iter().take(1024).position(|byte| *byte == 0);
        let end = end.ok_or_else(|| self.wrong("the name of a class has no end"))?;
        self.at += end + 1;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}
