//! Where the bytes of a file come from.

use crate::error::{Error, Result};
use bytes::Bytes;
use infeed_core::{Shard, Store};
use std::{ops::Range, sync::Arc};

/// A file, as bytes by range.
pub trait FileBytes: Send + Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// The bytes of some ranges, which all lie inside.
    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// The bytes of one range.
    fn read_one(&self, range: Range<u64>) -> Result<Bytes> {
        if range.start > range.end || range.end > self.size() {
            let what = format!("bytes {range:?} of {}: the file is cut short; copy it again", self.size());
            return Err(Error::damaged(range.start, what));
        }
        let len = range.end - range.start;
        let found = self.read(std::slice::from_ref(&range))?.pop().unwrap_or_default();
        if found.len() as u64 != len {
            return Err(Error::damaged(range.start, format!("{} bytes came instead of {len}", found.len())));
        }
        Ok(found)
    }
}

impl FileBytes for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let one = |range: &Range<u64>| {
            let inside = range.start <= range.end && range.end <= self.size();
            match inside {
                true => Ok(self.slice(range.start as usize..range.end as usize)),
                false => Err(Error::damaged(range.start, format!("bytes {range:?} of {}", self.len()))),
            }
        };
        ranges.iter().map(one).collect()
    }
}

/// A file of a store.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) shard: Shard,
}

impl FileBytes for Stored {
    fn size(&self) -> u64 {
        self.shard.size
    }

    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        Ok(self.store.read(&self.shard, ranges)?)
    }
}
