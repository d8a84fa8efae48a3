//! Compressors that others have written: zlib, zstd, bzip2.

use crate::{Error, Result, Scratch};

/// Those that are costly to make, made when first needed.
#[derive(Default)]
pub(crate) struct Decompressors {
    #[cfg(not(infeed_portable))]
    zlib: Option<libdeflater::Decompressor>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

pub(crate) fn damaged() -> Error {
    Error::from("the compressed bytes are damaged, or do not give a chunk")
}

impl Decompressors {
    /// zlib: deflate with its head and checksum.
    #[cfg(not(infeed_portable))]
    pub(crate) fn zlib(&mut self, input: &[u8], out: &mut [u8]) -> Result {
        let zlib = self.zlib.get_or_insert_with(libdeflater::Decompressor::new);
        zlib.zlib_decompress(input, out).map_err(|_| damaged())
    }

    /// zlib: deflate with its head and checksum.
    #[cfg(infeed_portable)]
    pub(crate) fn zlib(&mut self, input: &[u8], out: &mut [u8]) -> Result {
        let parts = std::iter::once(input);
        miniz_oxide::inflate::decompress_slice_iter_to_slice(out, parts, true, false).map_err(|_| damaged())
    }

    /// One zstd frame.
    pub(crate) fn zstd(&mut self, input: &[u8], out: &mut [u8]) -> Result {
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(|e| Error::from(e.to_string()))?),
        };
        zstd.decompress_to_buffer(input, out).map_err(|_| damaged())
    }
}

/// zlib: deflate with its head and checksum.
pub fn zlib(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    scratch.compress.zlib(input, out)
}

/// zstd frames.
pub fn zstd(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    scratch.compress.zstd(input, out)
}

/// One bzip2 stream.
pub fn bzip2(input: &[u8], out: &mut [u8]) -> Result {
    let mut stream = bzip2::Decompress::new(false);
    match stream.decompress(input, out) {
        Ok(bzip2::Status::StreamEnd) => Ok(stream.total_out() as usize),
        _ => Err(damaged()),
    }
}
