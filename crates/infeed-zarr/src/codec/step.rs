//! One step over bytes.

use super::numbers::Numbers;
use crate::error::{Error, Result};
use infeed_codecs as codecs;

/// What can be undone, by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Blosc,
    Blosc2,
    Gzip,
    Zlib,
    Zstd,
    Lz4,
    Bz2,
    Shuffle(usize),
    Fletcher32,
    /// A checksum of 4 bytes in little-endian, and whether it stands in front.
    Sum(Sum, bool),
    PackBits,
    Numbers(Numbers),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sum {
    Crc32c,
    Crc32,
    Adler32,
}

/// Nothing says how much a compressor makes of bytes that it cannot compress: not much more than they were.
pub(super) fn loosely(size: usize) -> usize {
    size.saturating_add(size / 2).saturating_add(4096)
}

impl Step {
    /// The name in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Step::Blosc => "blosc",
            Step::Blosc2 => "blosc2",
            Step::Gzip => "gzip",
            Step::Zlib => "zlib",
            Step::Zstd => "zstd",
            Step::Lz4 => "lz4",
            Step::Bz2 => "bz2",
            Step::Shuffle(_) => "shuffle",
            Step::Fletcher32 => "fletcher32",
            Step::Sum(Sum::Crc32c, _) => "crc32c",
            Step::Sum(Sum::Crc32, _) => "crc32",
            Step::Sum(Sum::Adler32, _) => "adler32",
            Step::PackBits => "packbits",
            Step::Numbers(numbers) => numbers.name(),
        }
    }

    /// How many bytes there can be at most behind the step, of so many in front of it.
    pub(super) fn size_behind(&self, size: usize) -> usize {
        match self {
            Step::Shuffle(_) => size,
            Step::Fletcher32 | Step::Sum(..) => size.saturating_add(4),
            Step::PackBits => size.div_ceil(8).saturating_add(1),
            Step::Numbers(numbers) => numbers.size_behind(size),
            _ => loosely(size),
        }
    }

    /// Undoes the step and says how many bytes it gave.
    pub(super) fn undo(&self, input: &[u8], out: &mut [u8], scratch: &mut codecs::Scratch) -> Result<usize> {
        let made = match self {
            Step::Blosc => codecs::blosc::undo(input, out, scratch),
            Step::Blosc2 => codecs::blosc2::undo(input, out, scratch),
            Step::Gzip => codecs::gzip(input, out, scratch),
            Step::Zlib => codecs::zlib(input, out, scratch),
            Step::Zstd => codecs::zstd(input, out, scratch),
            Step::Lz4 => codecs::lz4_sized(input, out),
            Step::Bz2 => codecs::bzip2(input, out),
            Step::Shuffle(size) => codecs::shuffle::undo(*size, input, out),
            Step::Fletcher32 => codecs::fletcher32::undo(input, out),
            Step::Sum(sum, front) => checked(*sum, *front, input, out),
            Step::PackBits => unpack(input, out),
            Step::Numbers(numbers) => numbers.undo(input, out),
        };
        made.map_err(|what| Error::Codec { name: self.name().to_owned(), what: what.to_string() })
    }
}

/// Checks a sum and gives the bytes beside it.
fn checked(sum: Sum, front: bool, input: &[u8], out: &mut [u8]) -> codecs::Result {
    let parts = if front {
        input.split_first_chunk::<4>().map(|(sum, data)| (data, sum))
    } else {
        input.split_last_chunk::<4>()
    };
    let (data, stored) = parts.ok_or("too short for its checksum")?;
    let found = match sum {
        Sum::Crc32c => codecs::crc32c(data),
        Sum::Crc32 => codecs::crc32(data),
        Sum::Adler32 => codecs::adler32(data),
    };
    // Fuzzers would never get past a checksum to what is behind it.
    if found != u32::from_le_bytes(*stored) && !cfg!(fuzzing) {
        return Err("the checksum does not agree: the chunk is damaged".into());
    }
    let out = out.get_mut(..data.len()).ok_or("more bytes than a chunk has")?;
    out.copy_from_slice(data);
    Ok(data.len())
}

/// Truth values of one bit each; the first byte says how many bits of the last one mean nothing.
fn unpack(input: &[u8], out: &mut [u8]) -> codecs::Result {
    let (&unused, bits) = input.split_first().ok_or("no bytes")?;
    let count = (bits.len() * 8).checked_sub(usize::from(unused)).ok_or("more unused bits than there are")?;
    let out = out.get_mut(..count).ok_or("more bytes than a chunk has")?;
    out.iter_mut().enumerate().for_each(|(at, to)| *to = bits[at / 8] >> (7 - at % 8) & 1);
    Ok(count)
}
