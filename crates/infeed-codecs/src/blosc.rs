//! Blosc chunks, of both generations: blocks that were shuffled and compressed, with a head that says how.

use crate::{Error, Result, Scratch, bitshuffle::unbitshuffle, blosclz, compress, lz4, shuffle::unshuffle};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shuffle {
    Bytes,
    Bits,
}

/// What the head says.
struct Head<'a> {
    /// Behind the head: starts of blocks, then the blocks. They count from the front of the chunk.
    chunk: &'a [u8],
    head: usize,
    total: usize,
    block: usize,
    size: usize,
    copied: bool,
    split: bool,
    second: bool,
    /// Bits are shuffled only if all elements fit into groups of eight.
    old_bits: bool,
    compressor: u8,
    shuffles: Vec<Shuffle>,
}

/// Unpacks one chunk and says how many bytes it holds.
pub fn undo(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    let short = || Error::from("the blosc chunk is cut short");
    let number = |at: usize| -> Result {
        let bytes = input.get(at..at + 4).and_then(|b| b.first_chunk::<4>()).ok_or_else(short)?;
        usize::try_from(i32::from_le_bytes(*bytes)).map_err(|_| Error::from("a negative size"))
    };
    let [version, _, flags, size, ..] = *input else { return Err(short()) };
    let (total, block, stored) = (number(4)?, number(8)?, number(12)?);
    let chunk = input.get(..stored).ok_or_else(short)?;
    let second = version >= 4 && flags & 5 == 5;
    let head = if second { 32 } else { 16 };
    let Some(out) = out.get_mut(..total) else { return Err("more bytes than a chunk has".into()) };
    let size = usize::from(size).max(1);
    let mut shuffles = Vec::new();
    if second {
        let codes = chunk.get(16..22).ok_or_else(short)?;
        // The last filter was applied last; 0 is none, and cutting digits off (4) cannot be undone.
        for code in codes.iter().rev() {
            match code {
                0 | 4 => {}
                1 => shuffles.push(Shuffle::Bytes),
                2 => shuffles.push(Shuffle::Bits),
                3 => return Err("blosc2's delta filter is not known here".into()),
                other => return Err(format!("blosc2's filter {other} is not known here").into()),
            }
        }
        let special = *chunk.get(31).ok_or_else(short)?;
        if special & 1 != 0 {
            return Err("blosc2 with a dictionary is not known here".into());
        }
        if special >> 4 & 7 != 0 {
            return repeated(special >> 4 & 7, chunk, size, out);
        }
    } else if flags & 1 != 0 && size > 1 {
        shuffles.push(Shuffle::Bytes);
    } else if flags & 4 != 0 {
        shuffles.push(Shuffle::Bits);
    }
    let head = Head {
        chunk,
        head,
        total,
        block,
        size,
        copied: flags & 2 != 0,
        split: flags & 16 == 0,
        second,
        old_bits: version < 3,
        compressor: flags >> 5,
        shuffles,
    };
    head.unpack(out, scratch)?;
    Ok(total)
}

/// Chunks of one value: zeros, NaN, a given value, or nothing that means anything.
pub(crate) fn repeated(kind: u8, chunk: &[u8], size: usize, out: &mut [u8]) -> Result {
    if size == 0 || size > 255 {
        return Err(format!("a repeated value of {size} bytes").into());
    }
    let value: Vec<u8> = match (kind, size) {
        (1 | 4, _) => vec![0; size],
        (2, 4) => f32::NAN.to_le_bytes().to_vec(),
        (2, 8) => f64::NAN.to_le_bytes().to_vec(),
        (3, _) => chunk.get(32..32 + size).ok_or("a repeated value is missing")?.to_vec(),
        _ => return Err(format!("blosc2's special value {kind} is not known here").into()),
    };
    out.chunks_mut(size).for_each(|to| to.copy_from_slice(&value[..to.len()]));
    Ok(out.len())
}

impl Head<'_> {
    fn unpack(&self, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let short = || Error::from("the blosc chunk is cut short");
        if self.copied {
            let raw =
                self.chunk.get(self.head..).and_then(|rest| rest.get(..self.total)).ok_or_else(short)?;
            out.copy_from_slice(raw);
            return Ok(());
        }
        if self.total == 0 {
            return Ok(());
        }
        if self.block == 0 {
            return Err("blocks of no bytes".into());
        }
        for (at, to) in out.chunks_mut(self.block).enumerate() {
            let place = self.head + at * 4;
            let start = self.chunk.get(place..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(short)?;
            let from = self.chunk.get(u32::from_le_bytes(*start) as usize..).ok_or_else(short)?;
            self.one_block(from, to, scratch)?;
        }
        Ok(())
    }

    fn one_block(&self, from: &[u8], to: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let len = to.len();
        let streams =
            if self.split && len == self.block && len.is_multiple_of(self.size) { self.size } else { 1 };
        if self.shuffles.is_empty() {
            return self.streams(from, to, streams, &mut scratch.compress);
        }
        let Scratch { inner, compress, .. } = scratch;
        inner.resize(inner.len().max(3 * len), 0);
        let (first, rest) = inner[..3 * len].split_at_mut(len);
        let (second, room) = rest.split_at_mut(len);
        self.streams(from, first, streams, compress)?;
        let (last, more) = self.shuffles.split_last().ok_or("no filter")?;
        for shuffle in more {
            self.undo_one(*shuffle, first, second, room);
            first.copy_from_slice(second);
        }
        self.undo_one(*last, first, to, room);
        Ok(())
    }

    fn undo_one(&self, shuffle: Shuffle, from: &[u8], to: &mut [u8], room: &mut [u8]) {
        if shuffle == Shuffle::Bytes {
            return unshuffle(self.size, from, to);
        }
        let count = from.len() / self.size;
        let whole = if self.old_bits && !count.is_multiple_of(8) { 0 } else { count / 8 * 8 * self.size };
        to[whole..].copy_from_slice(&from[whole..]);
        if whole > 0 {
            unbitshuffle(self.size, &from[..whole], &mut room[..whole], &mut to[..whole]);
        }
    }

    /// The streams of a block: each has its stored length before it.
    fn streams(
        &self,
        mut from: &[u8],
        to: &mut [u8],
        streams: usize,
        compress: &mut compress::Decompressors,
    ) -> Result<()> {
        let short = || Error::from("a stream of a blosc block is cut short");
        for to in to.chunks_mut(to.len() / streams) {
            let (stored, rest) = from.split_first_chunk::<4>().ok_or_else(short)?;
            let stored = i32::from_le_bytes(*stored);
            let Ok(len) = usize::try_from(stored) else {
                // The second generation tells a run of one byte by a negative length and a token.
                let (token, rest) = rest.split_first().ok_or_else(short)?;
                let value = u8::try_from(-i64::from(stored)).map_err(|_| Error::from("a run of no byte"))?;
                if !self.second || token & 1 == 0 {
                    return Err("a stream of negative length".into());
                }
                to.fill(value);
                from = rest;
                continue;
            };
            if len == 0 && self.second {
                to.fill(0);
                from = rest;
                continue;
            }
            let (data, rest) = rest.split_at_checked(len).ok_or_else(short)?;
            from = rest;
            if len == to.len() {
                to.copy_from_slice(data);
                continue;
            }
            let made = match self.compressor {
                0 => blosclz::unpack(data, to).ok_or("the blosclz bytes are damaged")?,
                1 => lz4(data, to)?,
                3 => compress.zlib(data, to)?,
                4 => compress.zstd(data, to)?,
                2 => return Err("blosc with snappy is not known here".into()),
                other => return Err(format!("blosc's compressor {other} is not known here").into()),
            };
            if made != to.len() {
                return Err("a stream of a blosc block has the wrong size".into());
            }
        }
        Ok(())
    }
}
