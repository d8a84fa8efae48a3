//! Looking at headers without reading the whole shard, or reading it in large pieces when that is quicker.
//!
//! Between two headers lies a member's data. When members are small the next header is in the same page or the
//! next, and one large read is quicker than a thousand small ones; when they are large, reading them only to skip
//! them is a waste. The window decides by the distance of the last jumps.

use super::header::BLOCK;
use bytes::Bytes;
use infeed_core::{Result, Shard, Store, StoreExt};

/// One read when members are small: what is parsed next should still be in the processor's cache.
const LARGE: u64 = 256 << 10;
/// One read when members are large: room for a header with PAX records, a small field, and the header after it.
const SMALL: u64 = 4 << 10;
/// Average distance above which skipping beats reading. Measured: out of the page cache a small read costs as much
/// as copying about 10 KB; a disk that must seek favours reading on for longer.
const FAR: u64 = 32 << 10;

/// A view of a shard that moves forward.
#[derive(Debug)]
pub(super) struct Window<'a> {
    store: &'a dyn Store,
    shard: &'a Shard,
    start: u64,
    bytes: Bytes,
    /// Average distance of the reads, in which old distances fade.
    distance: u64,
}

impl<'a> Window<'a> {
    pub(super) fn new(store: &'a dyn Store, shard: &'a Shard) -> Self {
        Window { store, shard, start: 0, bytes: Bytes::new(), distance: FAR }
    }

    /// The bytes at `offset`, which the caller has checked to lie in the shard.
    pub(super) fn at(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        let end = self.start + self.bytes.len() as u64;
        if offset < self.start || offset + len > end {
            let jump = offset.saturating_sub(end);
            self.distance = (3 * self.distance + jump) / 4;
            let piece = if self.distance < FAR { LARGE } else { SMALL };
            let stop = offset.saturating_add(piece.max(len)).min(self.shard.size);
            self.bytes = self.store.read_one(self.shard, offset..stop)?;
            self.start = offset;
        }
        let from = (offset - self.start) as usize;
        Ok(&self.bytes[from..from + len as usize])
    }

    /// The first header at or after `offset`, found by its checksum.
    pub(super) fn next_header(&mut self, mut offset: u64) -> Result<Option<u64>> {
        self.distance = 0;
        while offset + BLOCK <= self.shard.size {
            let block = self.at(offset, BLOCK)?;
            if !super::header::is_zero(block) && super::header::checksum_holds(block) {
                return Ok(Some(offset));
            }
            offset += BLOCK;
        }
        Ok(None)
    }
}
