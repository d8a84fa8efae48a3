//! Memory-mapped files. With `advise`, the only `unsafe` of the store stage.

use bytes::Bytes;
use memmap2::Mmap;
use std::{fs::File, io};

/// Maps a whole file of `size` bytes. Pages are read when they are touched.
///
/// If the file is truncated while it is mapped, touching the missing part kills the process (SIGBUS). Readers offer
/// `read="pread"` for data that others write to.
pub(super) fn map(file: &File, size: u64) -> io::Result<Bytes> {
    if size == 0 {
        // An empty file cannot be mapped.
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private and only read, as bytes, for which every value is valid. Others can change the
    // file meanwhile: `Store::map` documents that, and code that reads a value twice must copy it first.
    let map = unsafe { Mmap::map(file) }?;
    Ok(Bytes::from_owner(map))
}
