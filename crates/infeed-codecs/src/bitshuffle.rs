//! `bitshuffle`: the first bits of all elements stand together, then the second ones, and so on; in blocks, which may be
//! compressed.

use crate::{Error, Result, Scratch, lz4, shuffle::unshuffle, wide};

/// Bytes of a block, if nothing else is said.
const BLOCK_BYTES: usize = 8192;
/// Elements of a block at least.
const LEAST: usize = 128;

/// Undoes the filter: settings are version, version, element size, block size, compressor, level.
pub fn undo(settings: &[u32], input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    let setting = |at: usize| settings.get(at).copied().unwrap_or(0) as usize;
    let size = setting(2).max(1);
    if size > 1 << 16 {
        return Err(format!("elements of {size} bytes").into());
    }
    let usual = (BLOCK_BYTES / size / 8 * 8).max(LEAST);
    let short = || Error::from("the compressed blocks are cut short");
    let method = setting(4);
    let (total, block, mut rest) = if method == 0 {
        let block = if setting(3) == 0 { usual } else { setting(3) };
        (input.len(), block.saturating_mul(size), input)
    } else {
        let (total, rest) = input.split_first_chunk::<8>().ok_or_else(short)?;
        let (block, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let total = usize::try_from(u64::from_be_bytes(*total)).map_err(|_| short())?;
        (total, u32::from_be_bytes(*block) as usize, rest)
    };
    let Some(out) = out.get_mut(..total) else { return Err("more bytes than a chunk has".into()) };
    if block == 0 || block % (8 * size) != 0 {
        return Err(format!("blocks of {block} bytes for elements of {size}").into());
    }
    // Elements that do not make eight are behind the blocks as they are.
    let shuffled = total - total % (8 * size);
    let (blocks, end) = out.split_at_mut(shuffled);
    let Scratch { inner, compress, .. } = scratch;
    for to in blocks.chunks_mut(block) {
        let len = to.len();
        inner.resize(inner.len().max(2 * len), 0);
        let (bits, bytes) = inner[..2 * len].split_at_mut(len);
        let from = if method == 0 {
            let (from, behind) = rest.split_at_checked(len).ok_or_else(short)?;
            rest = behind;
            from
        } else {
            let (stored, behind) = rest.split_first_chunk::<4>().ok_or_else(short)?;
            let (from, behind) =
                behind.split_at_checked(u32::from_be_bytes(*stored) as usize).ok_or_else(short)?;
            rest = behind;
            let made = match method {
                2 => lz4(from, bits)?,
                3 => compress.zstd(from, bits)?,
                other => return Err(format!("bitshuffle with compressor {other}").into()),
            };
            if made != len {
                return Err("a block has the wrong size".into());
            }
            bits
        };
        unbitshuffle(size, from, bytes, to);
    }
    let tail = rest.get(..end.len()).ok_or_else(short)?;
    end.copy_from_slice(tail);
    Ok(total)
}

/// Puts the bits of whole groups of eight elements together again. All slices have the same length; `bytes` is room to work in.
pub(crate) fn unbitshuffle(size: usize, input: &[u8], bytes: &mut [u8], out: &mut [u8]) {
    let count = input.len() / size;
    let row = count / 8;
    if row == 0 {
        return;
    }
    // For each byte of an element there are eight rows, one for each bit.
    for (rows, plane) in input.chunks_exact(row * 8).zip(bytes.chunks_exact_mut(count)) {
        let done = wide::bits(rows, plane, row);
        let whole = row / 8 * 8;
        for at in (done..whole).step_by(8) {
            let mut words = [0u64; 8];
            for (k, word) in words.iter_mut().enumerate() {
                let mut eight = [0; 8];
                eight.copy_from_slice(&rows[k * row + at..k * row + at + 8]);
                *word = u64::from_le_bytes(eight);
            }
            turn_bits(&mut words);
            turn_bytes(&mut words);
            for (to, word) in plane[at * 8..at * 8 + 64].as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *to = word.to_le_bytes();
            }
        }
        for at in whole..row {
            let mut words = [0u64; 8];
            for (k, word) in words.iter_mut().enumerate() {
                *word = u64::from(rows[k * row + at]);
            }
            turn_bits(&mut words);
            for (to, word) in plane[at * 8..at * 8 + 8].iter_mut().zip(words) {
                *to = word as u8;
            }
        }
    }
    unshuffle(size, bytes, out);
}

/// In every byte position, bit `i` of word `k` changes places with bit `k` of word `i`.
fn turn_bits(words: &mut [u64; 8]) {
    turn(words, 4, 4, 0x0f0f_0f0f_0f0f_0f0f);
    turn(words, 2, 2, 0x3333_3333_3333_3333);
    turn(words, 1, 1, 0x5555_5555_5555_5555);
}

/// Byte `i` of word `k` changes places with byte `k` of word `i`.
pub(crate) fn turn_bytes(words: &mut [u64; 8]) {
    turn(words, 4, 32, 0x0000_0000_ffff_ffff);
    turn(words, 2, 16, 0x0000_ffff_0000_ffff);
    turn(words, 1, 8, 0x00ff_00ff_00ff_00ff);
}

#[inline(always)]
fn turn(words: &mut [u64; 8], step: usize, shift: u32, mask: u64) {
    for k in 0..8 {
        if k & step == 0 {
            let other = (words[k] >> shift ^ words[k + step]) & mask;
            words[k + step] ^= other;
            words[k] ^= other << shift;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_home() {
        for size in [1, 2, 3, 4, 8, 16] {
            for count in [8, 16, 64, 136, 256, 1000, 1024] {
                let data: Vec<u8> = (0..count * size).map(|n| (n * 31 + n / 7) as u8).collect();
                let mut shuffled = vec![0u8; data.len()];
                for element in 0..count {
                    for bit in 0..size * 8 {
                        let value = data[element * size + bit / 8] >> (bit % 8) & 1;
                        shuffled[bit * count / 8 + element / 8] |= value << (element % 8);
                    }
                }
                let (mut bytes, mut out) = (vec![0; data.len()], vec![0; data.len()]);
                unbitshuffle(size, &shuffled, &mut bytes, &mut out);
                assert_eq!(out, data, "size {size}, {count} elements");
            }
        }
    }
}
