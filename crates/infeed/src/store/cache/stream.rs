//! Reading an object from front to back through a cache.

use super::shared::Shared;
use bytes::Bytes;
use infeed_core::{Error, Shard, StoreExt};
use std::{
    io::{self, Read},
    sync::Arc,
};

/// Chunks that are announced ahead of the one that is read.
const AHEAD: u64 = 8;

/// A reader that announces what it will need.
pub(super) struct Forward {
    pub(super) store: super::CacheStore,
    pub(super) shard: Shard,
    /// Offset of the first byte that was not read yet.
    pub(super) at: u64,
    /// Offset of the first byte that was not announced yet.
    pub(super) announced: u64,
    pub(super) rest: Bytes,
    /// Where the store cannot give parts of the object: its own stream.
    pub(super) through: Option<Box<dyn Read + Send>>,
}

impl Forward {
    pub(super) fn new(shared: &Arc<Shared>, shard: &Shard, at: u64) -> Self {
        let store = super::CacheStore::view(shared);
        Forward { store, shard: shard.clone(), at, announced: at, rest: Bytes::new(), through: None }
    }

    fn next(&mut self) -> io::Result<Bytes> {
        let chunk = self.store.shared.options.chunk;
        // Up to the end of the chunk, so that the next piece is one.
        let end = self.shard.size.min((self.at / chunk + 1) * chunk);
        let ahead = self.shard.size.min(end + AHEAD * chunk);
        if self.announced < ahead {
            let next = self.announced.max(end)..ahead;
            self.store.shared.announce(&self.shard, std::slice::from_ref(&next));
            self.announced = ahead;
        }
        let bytes = self.store.read_one(&self.shard, self.at..end).map_err(plain)?;
        self.at = end;
        Ok(bytes)
    }
}

fn plain(error: Error) -> io::Error {
    match error {
        Error::Io { source, .. } => match source.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(source.kind(), source.to_string()),
        },
        other => io::Error::other(other),
    }
}

impl Read for Forward {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(through) = &mut self.through {
            return through.read(out);
        }
        if self.rest.is_empty() && self.at < self.shard.size {
            self.rest = match self.next() {
                Err(e) if e.kind() == io::ErrorKind::Unsupported => {
                    let inner = &self.store.shared.inner;
                    let Some(stream) = inner.stream(&self.shard, self.at).map_err(plain)? else {
                        return Err(e);
                    };
                    return self.through.insert(stream).read(out);
                }
                other => other?,
            };
        }
        let len = out.len().min(self.rest.len());
        out[..len].copy_from_slice(&self.rest.split_to(len));
        Ok(len)
    }
}
