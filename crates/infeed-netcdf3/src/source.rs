//! Where bytes come from, and how much a file may ask for. This crate opens no file by itself.

use crate::error::ReadError;
use bytes::Bytes;
use std::{ops::Range, sync::Arc};

/// A file, as bytes by range. Every store can be one.
pub trait ByteSource: Send + Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// The bytes of a range. The caller never asks for bytes behind [`size`](Self::size), and expects as many as it asked for.
    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError>;
}

impl ByteSource for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        if range.start > range.end || range.end > self.size() {
            return Err(format!("bytes {range:?} of {}", self.len()).into());
        }
        Ok(self.slice(range.start as usize..range.end as usize))
    }
}

impl<S: ByteSource + ?Sized> ByteSource for Arc<S> {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        (**self).read(range)
    }
}

/// Limits that are checked before anything is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the header.
    pub max_header: u64,
    /// Bytes of one read: longer runs are cut.
    pub max_run: u64,
    /// Pieces of one plan.
    pub max_pieces: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_header: 256 << 20, max_run: 16 << 20, max_pieces: 1 << 20 }
    }
}

impl Limits {
    /// Limits for small machines and for tests.
    pub fn small() -> Self {
        Limits { max_header: 4 << 20, max_pieces: 1 << 16, ..Limits::default() }
    }
}
