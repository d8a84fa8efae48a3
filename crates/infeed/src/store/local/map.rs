//! Memory-mapped files. With `advise` and `guard`, the only `unsafe` of the store stage.

use super::guard::Guard;
use bytes::Bytes;
use memmap2::Mmap;
use std::{fs::File, io, sync::Arc};

/// Maps a whole file of `size` bytes. Pages are read when they are touched.
///
/// If the file is truncated while it is mapped, the missing part reads as zeros and the engine refuses the batch (`guard`).
pub(super) fn map(file: &File, name: &Arc<str>, size: u64) -> io::Result<Bytes> {
    if size == 0 {
        // An empty file cannot be mapped.
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private and only read, as bytes, for which every value is valid. Others can change the
    // file meanwhile: `Store::map` documents that, and code that reads a value twice must copy it first.
    let map = unsafe { Mmap::map(file) }?;
    let guard = Guard::new(map.as_ptr() as usize, map.len(), name);
    Ok(Bytes::from_owner(Watched { _guard: guard, map }))
}

/// A mapping and what watches it, which is dropped first.
struct Watched {
    _guard: Guard,
    map: Mmap,
}

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}
