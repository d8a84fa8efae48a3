//! LZ4 blocks. The reference library decodes shuffled numbers 1.6 times as fast as safe Rust, which calls `memmove` for every
//! match (`cargo run --release -p infeed-codecs --example compare_lz4`); `LZ4_decompress_safe` is its function for input that nobody
//! vouches for. Portable builds take `lz4_flex`. Damaged blocks may copy bytes that were in the output before: callers give memory that
//! holds nothing secret.

use crate::{Error, Result, compress::damaged};

/// One raw lz4 block.
#[cfg(not(infeed_portable))]
pub fn lz4(input: &[u8], out: &mut [u8]) -> Result {
    let (Ok(stored), Ok(room)) = (i32::try_from(input.len()), i32::try_from(out.len())) else {
        return Err("a block of lz4 is larger than 2 GiB".into());
    };
    // SAFETY: both lengths are those of the slices. The function reads no byte behind the first and writes none behind the
    // second, whatever the input is; a negative number says that it is damaged.
    #[allow(unsafe_code)]
    let made =
        unsafe { lz4_sys::LZ4_decompress_safe(input.as_ptr().cast(), out.as_mut_ptr().cast(), stored, room) };
    usize::try_from(made).map_err(|_| damaged())
}

/// One raw lz4 block.
#[cfg(infeed_portable)]
pub fn lz4(input: &[u8], out: &mut [u8]) -> Result {
    lz4_flex::block::decompress_into(input, out).map_err(|_| damaged())
}

/// The lz4 codec of numcodecs: the length in little-endian, then one block.
pub fn lz4_sized(input: &[u8], out: &mut [u8]) -> Result {
    let (total, rest) = input.split_first_chunk::<4>().ok_or("the head of the lz4 block is cut short")?;
    let Some(out) = out.get_mut(..u32::from_le_bytes(*total) as usize) else {
        return Err("more bytes than a chunk has".into());
    };
    if lz4(rest, out)? == out.len() { Ok(out.len()) } else { Err(damaged()) }
}

/// The lz4 filter of HDF5: sizes in big-endian, then blocks, each with its stored length.
pub fn lz4_blocks(input: &[u8], out: &mut [u8]) -> Result {
    let short = || Error::from("the head of the lz4 blocks is cut short");
    let (total, rest) = input.split_first_chunk::<8>().ok_or_else(short)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let total = u64::from_be_bytes(*total);
    let block = (u64::from(u32::from_be_bytes(*block))).min(total) as usize;
    let total = usize::try_from(total).ok().filter(|&total| total <= out.len());
    let total = total.ok_or_else(|| Error::from("more bytes than a chunk has"))?;
    if block == 0 && total > 0 {
        return Err("blocks of no bytes".into());
    }
    for to in out[..total].chunks_mut(block.max(1)) {
        let (len, behind) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let len = u32::from_be_bytes(*len) as usize;
        let (from, behind) = behind.split_at_checked(len).ok_or_else(short)?;
        // What could not be made smaller is stored as it is.
        if len == to.len() {
            to.copy_from_slice(from);
        } else if lz4(from, to)? != to.len() {
            return Err(damaged());
        }
        rest = behind;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both decoders give the same bytes, and neither goes astray on bytes that were cut or changed.
    #[test]
    fn blocks_come_home_and_damage_is_told() {
        let data: Vec<u8> = (0..50_000u32).map(|n| ((n / 100 * 7) ^ (n % 13)) as u8).collect();
        let mut block = lz4_flex::block::compress(&data);
        let mut out = vec![0; data.len()];
        assert_eq!(lz4(&block, &mut out), Ok(data.len()));
        assert_eq!(out, data);
        assert!(lz4(&block, &mut out[..100]).is_err());
        let head = (data.len() as u32).to_le_bytes();
        assert_eq!(lz4_sized(&[&head[..], &block].concat(), &mut out), Ok(data.len()));
        assert!(lz4_sized(&[&[1, 0, 0, 0], &block[..]].concat(), &mut out).is_err());
        for at in 0..block.len() {
            assert_ne!(lz4(&block[..at], &mut out), Ok(data.len()));
        }
        for at in 0..block.len() {
            block[at] ^= 1 << (at % 8);
            let _ = lz4(&block, &mut out);
        }
    }
}
