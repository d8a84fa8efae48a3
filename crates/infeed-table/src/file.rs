//! Bytes of a shard by range: mapped into memory, or read when asked for.

use infeed_core::{Bytes, Error, Result};
use memmap2::Mmap;
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
    Mapped(Arc<Mmap>, Bytes),
    Pread(File),
}

/// Keeps a mapping alive for as long as somebody has a part of it.
struct Shared(Arc<Mmap>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
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
                let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
                let map = Arc::new(map);
                Access::Mapped(map.clone(), Bytes::from_owner(Shared(map)))
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
            Access::Mapped(_, bytes) => Ok(bytes.slice(start as usize..end as usize)),
            Access::Pread(file) => {
                let mut out = vec![0; len as usize];
                file.read_exact_at(&mut out, start).map_err(|e| Error::io("read", &*self.path, e))?;
                Ok(out.into())
            }
        }
    }

    /// Says that a range is read soon. A mapping is otherwise read page by page as it is touched, which is slow on every disk.
    pub(crate) fn will_need(&self, start: u64, len: u64) {
        #[cfg(unix)]
        if let Access::Mapped(map, _) = &self.bytes
            && start.checked_add(len).is_some_and(|end| end <= self.len)
        {
            // A wish: reading works without it.
            let _ = map.advise_range(memmap2::Advice::WillNeed, start as usize, len as usize);
        }
    }

    /// An error that names this file.
    pub(crate) fn damaged(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::Format { shard: self.path.to_string(), offset, what: what.into() }
    }
}
