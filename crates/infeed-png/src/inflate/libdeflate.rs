//! Inflating with libdeflate.

use super::Fault;
use libdeflater::{DecompressionError, Decompressor};

pub(crate) use libdeflater::crc32;

/// A decompressor with its tables.
pub(crate) struct Inflater(Decompressor);

impl Inflater {
    pub(crate) fn new() -> Self {
        Inflater(Decompressor::new())
    }

    /// Inflates a whole zlib stream; returns the number of bytes.
    pub(crate) fn zlib(&mut self, stream: &[u8], out: &mut [u8]) -> Result<usize, Fault> {
        self.0.zlib_decompress(stream, out).map_err(|cause| match cause {
            DecompressionError::InsufficientSpace => Fault::NoRoom,
            DecompressionError::BadData => Fault::BadData,
        })
    }
}
