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

    #[cfg(not(infeed_portable))]
    fn gzip(&mut self, input: &[u8], out: &mut [u8]) -> Result {
        let zlib = self.zlib.get_or_insert_with(libdeflater::Decompressor::new);
        zlib.gzip_decompress(input, out).map_err(|_| damaged())
    }

    #[cfg(not(infeed_portable))]
    fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result {
        let zlib = self.zlib.get_or_insert_with(libdeflater::Decompressor::new);
        zlib.deflate_decompress(input, out).map_err(|_| damaged())
    }

    #[cfg(infeed_portable)]
    fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result {
        let parts = std::iter::once(input);
        miniz_oxide::inflate::decompress_slice_iter_to_slice(out, parts, false, false).map_err(|_| damaged())
    }

    #[cfg(infeed_portable)]
    fn gzip(&mut self, input: &[u8], out: &mut [u8]) -> Result {
        let (body, sum, len) = member(input).ok_or_else(damaged)?;
        let made = self.inflate(body, out)?;
        if made as u32 != len || crate::crc32(&out[..made]) != sum {
            return Err(damaged());
        }
        Ok(made)
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

/// gzip: deflate with another head, and a checksum. One member.
pub fn gzip(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    scratch.compress.gzip(input, out)
}

/// Deflate alone.
pub fn inflate(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    scratch.compress.inflate(input, out)
}

/// zstd frames.
pub fn zstd(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    scratch.compress.zstd(input, out)
}

/// The deflated part of a gzip member, its checksum and its length.
#[cfg(infeed_portable)]
fn member(input: &[u8]) -> Option<(&[u8], u32, u32)> {
    let (head, mut rest) = input.split_first_chunk::<10>()?;
    let [0x1f, 0x8b, 8, flags, ..] = *head else { return None };
    if flags & 4 != 0 {
        let (len, behind) = rest.split_first_chunk::<2>()?;
        rest = behind.get(usize::from(u16::from_le_bytes(*len))..)?;
    }
    // A name, then a comment, each with a zero behind it; then a checksum of the head.
    for flag in [8, 16] {
        if flags & flag != 0 {
            rest = rest.get(rest.iter().position(|&b| b == 0)? + 1..)?;
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    let (rest, len) = rest.split_last_chunk::<4>()?;
    let (body, sum) = rest.split_last_chunk::<4>()?;
    Some((body, u32::from_le_bytes(*sum), u32::from_le_bytes(*len)))
}

/// One bzip2 stream.
pub fn bzip2(input: &[u8], out: &mut [u8]) -> Result {
    let mut stream = bzip2::Decompress::new(false);
    match stream.decompress(input, out) {
        Ok(bzip2::Status::StreamEnd) => Ok(stream.total_out() as usize),
        _ => Err(damaged()),
    }
}
