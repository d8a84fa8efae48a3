//! Files as memory. With `advise`, the only `unsafe` of the store stage.

use bytes::Bytes;
use memmap2::Mmap;
use std::{fs::File, io};

/// A whole file of `size` bytes as memory. Pages are read when they are touched.
///
/// A file that is cut short while it is mapped ends the process (SIGBUS) at the next touch of what is gone. Readers offer
/// `read="pread"` for data that others write to.
pub(super) fn map(file: &File, size: u64) -> io::Result<Bytes> {
    if size == 0 {
        // An empty file cannot be mapped.
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private and only ever read, and only as bytes, for which every value is valid. Others can
    // change the file meanwhile: `Store::map` says so, and whoever reads a value twice must copy it first.
    let map = unsafe { Mmap::map(file) }?;
    Ok(Bytes::from_owner(map))
}
