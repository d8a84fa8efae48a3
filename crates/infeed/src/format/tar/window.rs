//! Reads headers without reading the whole shard, or reads it in large pieces if that is faster. Of a remote shard everything is
//! fetched, in large requests, and headers are picked out of what came.
//!
//! Between two headers is a member's data. If members are small, the next header is in the same page or the next, and
//! one large read is faster than a thousand small ones; if they are large, reading them only to skip them is a waste.
//! The window decides by the average distance of small reads.

use crate::{format::search::Search, layout::tar::header::BLOCK};
use bytes::Bytes;
use infeed_core::{Result, Shard, Store, StoreExt};

/// Size of one read if members are small: what is parsed next should still be in the CPU cache.
const LARGE: u64 = 256 << 10;
/// Size of one read if members are large: room for a header with PAX records, a small field, and the next header.
const SMALL: u64 = 4 << 10;
/// Average distance above which small reads beat reading everything. Measured from the page cache: the two cost the
/// same for members of about 10 KB; at 32 KB small reads take less than half the time, at 4 KB nearly twice.
const FAR: u64 = 12 << 10;

/// Size of one read of a remote shard: a whole request. Reading everything costs less than a request per member, up to members
/// of some megabytes.
const REMOTE: u64 = 1 << 20;
/// Reads of a remote shard that are on their way.
const REMOTE_AHEAD: u64 = 16;

/// A window on a shard that moves forward.
#[derive(Debug)]
pub(super) struct Window<'a> {
    store: &'a dyn Store,
    shard: &'a Shard,
    start: u64,
    bytes: Bytes,
    /// Offset of the last small read, real or hypothetical.
    anchor: u64,
    /// Moving average of the distance of small reads.
    distance: u64,
    /// For remote shards: the first byte that was not announced.
    announced: Option<u64>,
    /// Who is told how far it is.
    search: Option<&'a Search>,
}

impl<'a> Window<'a> {
    pub(super) fn new(store: &'a dyn Store, shard: &'a Shard, search: Option<&'a Search>) -> Self {
        let announced = store.room_ahead().map(|_| 0);
        Window { store, shard, start: 0, bytes: Bytes::new(), anchor: 0, distance: FAR, announced, search }
    }

    /// Returns the bytes at `offset`. The caller has checked that they are in the shard.
    pub(super) fn at(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        if offset + len > self.anchor + SMALL {
            self.distance = (3 * self.distance + offset.saturating_sub(self.anchor)) / 4;
            self.anchor = offset;
        }
        let end = self.start + self.bytes.len() as u64;
        if offset < self.start || offset + len > end {
            let whole = self.announced.map(|announced| self.announce(offset, len, announced));
            let piece = if self.distance < FAR { LARGE } else { SMALL };
            let stop = match whole {
                // Of small members all bytes are looked at. So is what the store had no room for: header by header it would be a
                // request for each.
                Some((whole, coming)) if self.distance < FAR || !coming => whole,
                // Of large members only headers. The store keeps what it brought and nobody took, as long as it has room: the rows
                // of a small data set need not be fetched again.
                _ => offset.saturating_add(piece.max(len)).min(self.shard.size),
            };
            self.bytes = self.store.read_one(self.shard, offset..stop)?;
            if let Some(search) = self.search {
                search.passed(stop.saturating_sub(end));
            }
            self.start = offset;
        }
        let from = (offset - self.start) as usize;
        Ok(&self.bytes[from..from + len as usize])
    }

    /// Announces what comes next in a remote shard, as far as the store has room. Returns where a request ends that begins at
    /// `offset`, and whether the bytes at `offset` are coming without one.
    fn announce(&mut self, offset: u64, len: u64, announced: u64) -> (u64, bool) {
        let size = self.shard.size;
        let next = |at: u64| (at / REMOTE + 1) * REMOTE;
        // Members that are larger than what is announced are skipped: then nothing is announced but what is read.
        let ahead = if offset > announced { 1 } else { REMOTE_AHEAD };
        let until = (next(offset) + (ahead - 1) * REMOTE).min(size);
        let mut at = announced.max(offset);
        while at < until {
            let end = next(at).min(size);
            // A piece that is larger than the room would be dropped before its last header is read.
            if self.store.room_ahead().is_none_or(|room| room < end - at) {
                break;
            }
            self.store.will_read(self.shard, std::slice::from_ref(&(at..end)));
            at = end;
        }
        let whole = next(offset).max(offset + len).min(size);
        let coming = (offset + len.max(SMALL)).min(size) <= at;
        self.announced = Some(if coming { at } else { at.max(whole) });
        (whole, coming)
    }

    /// Returns the first header at or after `offset`, found by its checksum.
    pub(super) fn next_header(&mut self, mut offset: u64) -> Result<Option<u64>> {
        while offset + BLOCK <= self.shard.size {
            let block = self.at(offset, BLOCK)?;
            if !crate::layout::tar::header::is_zero(block)
                && crate::layout::tar::header::checksum_holds(block)
            {
                return Ok(Some(offset));
            }
            offset += BLOCK;
        }
        Ok(None)
    }
}
