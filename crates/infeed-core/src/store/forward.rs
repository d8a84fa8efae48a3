//! Reads an object from front to back.

use super::{Shard, Store, StoreExt};
use crate::{Error, Result};
use bytes::Bytes;
use std::{
    io::{self, Read},
    sync::Arc,
};

/// Bytes requested at a time, if the store has no stream of its own.
const CHUNK: u64 = 1 << 20;

/// Reads an object from `from` to its end. An object that ends early is an error that names it and both sizes: a
/// truncated compressed stream must not look like a complete one.
pub fn forward(store: &Arc<dyn Store>, shard: &Shard, from: u64) -> Result<Box<dyn Read + Send>> {
    if from > shard.size {
        let what = format!("byte {from} is beyond its end at {}", shard.size);
        return Err(Error::io("read", &*shard.name, io::Error::new(io::ErrorKind::UnexpectedEof, what)));
    }
    let bytes = match store.stream(shard, from)? {
        Some(stream) => stream,
        None => {
            Box::new(Ranges { store: Arc::clone(store), shard: shard.clone(), at: from, rest: Bytes::new() })
        }
    };
    Ok(Box::new(Whole { bytes, at: from, shard: shard.clone() }))
}

/// Reads one range after the other.
struct Ranges {
    store: Arc<dyn Store>,
    shard: Shard,
    /// Offset of the first byte that was not requested yet.
    at: u64,
    rest: Bytes,
}

impl Read for Ranges {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() && self.at < self.shard.size {
            let end = self.shard.size.min(self.at + CHUNK);
            self.rest = self.store.read_one(&self.shard, self.at..end).map_err(io::Error::other)?;
            self.at = end;
            let next = end..self.shard.size.min(end + CHUNK);
            if !next.is_empty() {
                self.store.will_read(&self.shard, &[next]);
            }
        }
        let len = out.len().min(self.rest.len());
        out[..len].copy_from_slice(&self.rest.split_to(len));
        Ok(len)
    }
}

/// A reader that must return as many bytes as the object's listed size.
struct Whole {
    bytes: Box<dyn Read + Send>,
    at: u64,
    shard: Shard,
}

impl Read for Whole {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.bytes.read(out)?;
        self.at += len as u64;
        let (at, size) = (self.at, self.shard.size);
        if at > size || (len == 0 && !out.is_empty() && at < size) {
            let what = format!(
                "`{}` changed while it was being read: it had {size} bytes, and {at} were read",
                self.shard.name
            );
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(len)
    }
}
