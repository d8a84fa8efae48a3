//! Compressors that others have written: zlib, zstd, bzip2, xz.

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

/// Memory that a stream of xz may ask for: what its strongest setting needs, and some more.
const XZ_MEMORY: u64 = 80 << 20;

/// One xz stream.
pub fn xz(input: &[u8], out: &mut [u8]) -> Result {
    use liblzma::stream::{Action, Status, Stream};
    let mut stream = Stream::new_stream_decoder(XZ_MEMORY, 0).map_err(|e| Error::from(e.to_string()))?;
    match stream.process(input, out, Action::Finish) {
        Ok(Status::StreamEnd) => Ok(stream.total_out() as usize),
        _ => Err(damaged()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn xz_comes_home_and_damage_is_told() {
        let data: Vec<u8> = (0..50_000u32).map(|n| ((n / 100 * 7) ^ (n % 13)) as u8).collect();
        let mut stream = liblzma::write::XzEncoder::new(Vec::new(), 6);
        stream.write_all(&data).unwrap();
        let mut packed = stream.finish().unwrap();
        let mut out = vec![0; data.len()];
        assert_eq!(xz(&packed, &mut out), Ok(data.len()));
        assert_eq!(out, data);
        assert!(xz(&packed, &mut out[..100]).is_err());
        for at in 0..packed.len() {
            assert!(xz(&packed[..at], &mut out).is_err());
        }
        for at in 0..packed.len() {
            packed[at] ^= 1 << (at % 8);
            let _ = xz(&packed, &mut out);
            packed[at] ^= 1 << (at % 8);
        }
    }
}
