//! The bytes of one object, mapped or read on demand.

use bytes::Bytes;
use infeed_core::{Error, Result, Shard, Store, StoreExt};
use std::{ops::Range, sync::Arc};

/// How tokens are read from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Read {
    /// The file is mapped if its store supports that: only what a row needs is copied. The process is killed (SIGBUS)
    /// if the file is truncated meanwhile. Other stores are read as with [`Read::Pread`].
    #[default]
    Map,
    /// The rows of a batch are read by a call. Slower, but a truncated file is an ordinary error.
    Pread,
}

/// Returns the whole object, mapped or read.
pub(crate) fn whole(store: &Arc<dyn Store>, name: &str, read: Read) -> Result<Bytes> {
    let shard = store.stat_one(name)?;
    match mapped(store, &shard, read)? {
        Some(bytes) => Ok(bytes),
        None => store.read_all(&shard),
    }
}

fn mapped(store: &Arc<dyn Store>, shard: &Shard, read: Read) -> Result<Option<Bytes>> {
    match read {
        Read::Pread => Ok(None),
        Read::Map => match store.map(shard)? {
            Some(bytes) if bytes.len() as u64 != shard.size => {
                let what = format!(
                    "`{}` changed while it was opened: it had {} bytes and has {} now",
                    shard.name,
                    shard.size,
                    bytes.len()
                );
                Err(Error::io("map", &*shard.name, std::io::Error::other(what)))
            }
            other => Ok(other),
        },
    }
}

/// An object with tokens.
#[derive(Debug)]
pub(crate) struct Data {
    store: Arc<dyn Store>,
    shard: Shard,
    /// The whole object, if the store maps it.
    held: Option<Bytes>,
}

impl Data {
    pub(crate) fn open(store: &Arc<dyn Store>, name: &str, read: Read) -> Result<Data> {
        let shard = store.stat_one(name)?;
        let held = mapped(store, &shard, read)?;
        Ok(Data { store: Arc::clone(store), shard, held })
    }

    pub(crate) fn len(&self) -> u64 {
        self.shard.size
    }

    /// Returns whether the bytes are mapped into memory.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Announces that these bytes will be read soon.
    pub(crate) fn will_read(&self, range: Range<u64>) {
        let inside = range.start..range.end.min(self.len());
        if !inside.is_empty() {
            self.store.will_read(&self.shard, &[inside]);
        }
    }

    /// Announces that these ranges will be read soon.
    pub(crate) fn will_read_all(&self, ranges: &[Range<u64>]) {
        self.store.will_read(&self.shard, ranges);
    }

    /// The store it lies in.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the bytes at an offset; `scratch` holds them if they are not mapped.
    #[inline]
    pub(crate) fn get<'a>(&'a self, at: u64, len: usize, scratch: &'a mut Bytes) -> Result<&'a [u8]> {
        match &self.held {
            Some(held) => usize::try_from(at)
                .ok()
                .and_then(|at| held.get(at..at.checked_add(len)?))
                .ok_or_else(|| Error::Internal { what: format!("{len} bytes at {at} of a token file") }),
            None => {
                *scratch = self.store.read_one(&self.shard, at..at.saturating_add(len as u64))?;
                Ok(scratch)
            }
        }
    }

    /// Reads many ranges at once, for objects that are not mapped.
    pub(crate) fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.store.read(&self.shard, ranges)
    }

    /// Returns the bytes at an offset if they are mapped, otherwise nothing.
    #[inline]
    pub(crate) fn peek(&self, at: u64, len: usize) -> &[u8] {
        let Some(held) = &self.held else { return &[] };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        held.get(at..at.saturating_add(len)).unwrap_or_default()
    }
}
