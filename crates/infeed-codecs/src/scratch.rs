//! Memory that codecs keep from chunk to chunk.

use crate::compress::Decompressors;

/// Memory for decoding, kept from chunk to chunk by each thread.
#[derive(Default)]
pub struct Scratch {
    /// Blocks on their way: not longer than three blocks of a chunk.
    pub(crate) inner: Vec<u8>,
    /// A chunk that is cut into boxes.
    pub(crate) boxes: Vec<u8>,
    pub(crate) compress: Decompressors,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").field("inner", &self.inner.len()).finish_non_exhaustive()
    }
}
