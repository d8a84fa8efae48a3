//! Sequential reader of a tar's bytes.

use crate::{store::Pool, stream::compress::lift};
use infeed_core::{Bytes, Result, memory};
use std::{
    io::{BufRead, BufReader, ErrorKind, Read},
    sync::Arc,
};

/// Up to this size memory is allocated at once; beyond, it grows with the data, because a header can claim anything.
const TRUSTED: usize = 64 << 20;
/// Below this size, allocating a buffer is faster than taking one from the pool.
const SMALL: usize = 4 << 10;
/// Enough for headers and small members; the data of large ones bypasses the buffer.
const BUFFER: usize = 64 << 10;

/// A reader that knows its offset and the name of its shard.
pub(super) struct Tape<R> {
    pub(super) shard: Arc<str>,
    read: BufReader<R>,
    pool: Arc<Pool>,
    at: u64,
}

impl<R: Read> Tape<R> {
    pub(super) fn new(shard: &Arc<str>, read: R, pool: &Arc<Pool>) -> Self {
        let read = BufReader::with_capacity(BUFFER, read);
        Tape { shard: Arc::clone(shard), read, pool: Arc::clone(pool), at: 0 }
    }

    /// Returns the offset of the next byte.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Reads the next bytes into a buffer of their own. Returns how many there were, too.
    pub(super) fn take(&mut self, size: usize) -> Result<(usize, Bytes)> {
        if size > TRUSTED {
            return self.grow(size);
        }
        if size < SMALL {
            let mut bytes = vec![0; size];
            return Ok((self.fill(&mut bytes)?, bytes.into()));
        }
        let mut buffer = self.pool.take(size)?;
        Ok((self.fill(&mut buffer)?, buffer.freeze()))
    }

    /// Reads into a buffer that grows with the data.
    fn grow(&mut self, size: usize) -> Result<(usize, Bytes)> {
        let (mut bytes, mut filled) = (Vec::new(), 0);
        while filled < size {
            let room = (filled * 2).clamp(TRUSTED, size);
            memory::resize(&mut bytes, room)?;
            filled += self.fill(&mut bytes[filled..])?;
            if filled < room {
                break;
            }
        }
        Ok((filled, bytes.into()))
    }

    /// Fills `out`, or as much of it as there is data for.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read.read(&mut out[filled..]) {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(lift(&self.shard, e)),
            }
        }
        self.at += filled as u64;
        Ok(filled)
    }

    /// Skips bytes. Returns how many there were.
    pub(super) fn pass(&mut self, bytes: u64) -> Result<u64> {
        let mut passed = 0;
        while passed < bytes {
            let got = match self.read.fill_buf() {
                Ok(piece) => (piece.len() as u64).min(bytes - passed),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(lift(&self.shard, e)),
            };
            if got == 0 {
                break;
            }
            self.read.consume(got as usize);
            passed += got;
        }
        self.at += passed;
        Ok(passed)
    }
}
