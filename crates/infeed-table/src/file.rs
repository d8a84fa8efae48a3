//! Bytes of a shard by range: mapped into memory, or read when asked for.

use infeed_core::{Bytes, Error, Result};
use std::{fs::File, os::unix::fs::FileExt, sync::Arc};

/// How files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Mapped: no copy between page cache and decoder. A file must not shrink while it is mapped.
    Mapped,
    /// Read with `pread`.
    Pread,
}

/// One file.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) path: Arc<str>,
    pub(crate) len: u64,
    bytes: Access,
}

#[derive(Debug)]
enum Access {
    Mapped(Bytes),
    Pread(File),
}

impl Input {
    pub(crate) fn open(path: &str, how: Reading) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        let len = file.metadata().map_err(|e| Error::io("look at", path, e))?.len();
        let bytes = match how {
            // An empty file cannot be mapped.
            Reading::Mapped if len > 0 => {
                // SAFETY: the mapping is private and read-only, and only ever seen as bytes, which may have any value.
                // A file that shrinks while it is mapped ends the process with SIGBUS; data sets are not changed while
                // they are read, and `read="pread"` is there for those who do.
                let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
                Access::Mapped(Bytes::from_owner(map))
            }
            _ => Access::Pread(file),
        };
        Ok(Input { path: path.into(), len, bytes })
    }

    /// Bytes from `start` on. An error when the file ends before them.
    pub(crate) fn get(&self, start: u64, len: u64) -> Result<Bytes> {
        let end = start.checked_add(len).filter(|end| *end <= self.len);
        let Some(end) = end else {
            return Err(self.damaged(
                start,
                format!("{len} bytes should be here and the file has {} in all: it was cut off", self.len),
            ));
        };
        match &self.bytes {
            Access::Mapped(bytes) => Ok(bytes.slice(start as usize..end as usize)),
            Access::Pread(file) => {
                let mut out = vec![0; len as usize];
                file.read_exact_at(&mut out, start).map_err(|e| Error::io("read", &*self.path, e))?;
                Ok(out.into())
            }
        }
    }

    /// An error that names this file.
    pub(crate) fn damaged(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::Format { shard: self.path.to_string(), offset, what: what.into() }
    }
}
