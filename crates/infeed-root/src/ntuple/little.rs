//! Numbers, texts and frames of envelopes, which are little-endian.

use crate::{
    cursor::Cursor,
    error::{Error, Result},
};

/// Reads the bytes of an envelope or a frame.
pub(super) struct Little<'a> {
    cursor: Cursor<'a>,
    /// Where the envelope lies in the file.
    at: u64,
}

impl<'a> Little<'a> {
    pub(super) fn new(data: &'a [u8], at: u64) -> Self {
        Little { cursor: Cursor::unpacked(data, at), at }
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> Error {
        self.cursor.wrong(what)
    }

    pub(super) fn left(&self) -> usize {
        self.cursor.left()
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.cursor.u16().map(u16::swap_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.cursor.u32().map(u32::swap_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.u32().map(|number| number as i32)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.cursor.u64().map(u64::swap_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64> {
        self.u64().map(|number| number as i64)
    }

    pub(super) fn f64(&mut self) -> Result<f64> {
        self.u64().map(f64::from_bits)
    }

    /// A text with its length before it.
    pub(super) fn text(&mut self) -> Result<String> {
        let len = self.u32()? as usize;
        Ok(String::from_utf8_lossy(self.cursor.take(len)?).into_owned())
    }

    /// Bits that say what a reader must know; none are known.
    pub(super) fn features(&mut self) -> Result<()> {
        loop {
            let bits = self.i64()?;
            if bits & i64::MAX != 0 {
                return Err(Error::Unsupported(format!(
                    "it was written with features of RNTuple that are not known (flags {:#x}); write it again without them",
                    bits & i64::MAX
                )));
            }
            if bits >= 0 {
                return Ok(());
            }
        }
    }

    /// What is in a frame of so many bytes, of which `head` were its length.
    fn inside(&mut self, size: u64, head: u64) -> Result<Little<'a>> {
        let Some(rest) = size.checked_sub(head) else {
            return Err(self.wrong(format!("a frame of {size} bytes")));
        };
        let data = self.cursor.take(usize::try_from(rest).unwrap_or(usize::MAX))?;
        Ok(Little::new(data, self.at))
    }

    /// The next frame, which is a record.
    pub(super) fn record(&mut self) -> Result<Little<'a>> {
        let size = self.i64()?;
        if size < 0 {
            return Err(self.wrong("a list where a record should be"));
        }
        self.inside(size as u64, 8)
    }

    /// The next frame, which is a list of items that have so many bytes at least.
    pub(super) fn list(&mut self, what: &str, least: usize) -> Result<(usize, Little<'a>)> {
        let size = self.i64()?;
        if size >= 0 {
            return Err(self.wrong(format!("a record where a list of {what} should be")));
        }
        let mut list = self.inside(size.unsigned_abs(), 8)?;
        let count = list.u32()? as usize;
        if count > list.left() / least {
            return Err(self.wrong(format!("{count} {what} in {} bytes", list.left())));
        }
        Ok((count, list))
    }
}
