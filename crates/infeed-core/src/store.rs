//! Bytes by name and range.

use crate::{Error, Result};
use bytes::Bytes;
use std::{fmt::Debug, ops::Range, sync::Arc};

/// One named object in a store: a tar, a Parquet file, a JPEG in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Name inside its store, as the user would write it.
    pub name: Arc<str>,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since 1970, where the store knows it.
    pub modified: Option<u64>,
}

/// Where bytes lie: local disk, object store, http, memory.
pub trait Store: Debug + Send + Sync {
    /// Every object whose name starts with `prefix`, sorted by name.
    fn list(&self, prefix: &str) -> Result<Vec<Shard>>;

    /// Name, size and age of the objects asked for, in the same order. A missing one is [`Error::NotFound`].
    fn stat(&self, names: &[String]) -> Result<Vec<Shard>>;

    /// The bytes of each range, in the same order. A range beyond the end is an error, never short bytes.
    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Says that these ranges will be read soon. A hint: doing nothing is right.
    fn will_read(&self, _shard: &Shard, _ranges: &[Range<u64>]) {}
}

/// Comforts over [`Store`].
pub trait StoreExt: Store {
    /// One whole object.
    fn read_all(&self, shard: &Shard) -> Result<Bytes> {
        self.read_one(shard, 0..shard.size)
    }

    /// One range.
    fn read_one(&self, shard: &Shard, range: Range<u64>) -> Result<Bytes> {
        let mut bytes = self.read(shard, std::slice::from_ref(&range))?;
        match (bytes.pop(), bytes.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => {
                Err(Error::Internal { what: format!("store gave {} pieces for one range", bytes.len() + 1) })
            }
        }
    }

    /// One object by name.
    fn stat_one(&self, name: &str) -> Result<Shard> {
        self.stat(&[name.to_owned()])?
            .pop()
            .ok_or_else(|| Error::NotFound { path: name.to_owned(), hint: String::new() })
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
