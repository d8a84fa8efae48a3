//! Memory-mapped files. With `advise` and `guard`, the only `unsafe` of the store stage.

use super::guard::Guard;
use bytes::Bytes;
use infeed_core::lent;
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
    // SAFETY: the mapping is only read, as bytes, for which every value is valid. Others can still change the file, and
    // the mapping shows it. So its addresses are registered (`lent::lend`), and decoders, which read some values twice,
    // work on a copy (`lent::owned`).
    let map = unsafe { Mmap::map(file) }?;
    let guard = Guard::new(map.as_ptr() as usize, map.len(), name);
    Ok(lent::lend(Watched { _guard: guard, map }))
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
