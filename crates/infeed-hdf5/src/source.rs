//! Where bytes come from. This crate opens no file and makes no request by itself.

use crate::error::ReadError;
use bytes::Bytes;
use std::ops::Range;

/// A file, as bytes by range. Every store can be one.
pub trait ByteSource: Send + Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// The bytes of a range. The caller never asks for bytes behind [`size`](Self::size), and expects as many as it asked for.
    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError>;

    /// The bytes of several ranges. Sources that are far away ask for all of them at once.
    fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    /// Whether a read takes so long that metadata should be asked for before they are needed.
    fn is_far(&self) -> bool {
        false
    }
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

impl<S: ByteSource + ?Sized> ByteSource for std::sync::Arc<S> {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        (**self).read(range)
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        (**self).read_many(ranges)
    }

    fn is_far(&self) -> bool {
        (**self).is_far()
    }
}
