//! A chunk map as bytes, so that it need not be read again.
//!
//! Everything is little-endian: `IHCM`, version, length of the data file, axes, the grid, bytes of a chunk, the kind of list,
//! the lists, and a checksum. What is loaded is checked as if it came from anybody.

use super::{ChunkMap, Lens, Listed, Places};
use crate::{
    checksum::lookup3,
    cursor::{Cursor, Sizes},
    error::{Error, Result},
};

const MAGIC: &[u8; 4] = b"IHCM";
const VERSION: u8 = 1;

impl ChunkMap {
    /// The map as bytes; `file_len` is the length of the file it belongs to.
    pub fn to_bytes(&self, file_len: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.memory() + 128);
        out.extend(MAGIC);
        out.push(VERSION);
        out.push(self.grid.len() as u8);
        let put =
            |out: &mut Vec<u8>, numbers: &[u64]| numbers.iter().for_each(|n| out.extend(n.to_le_bytes()));
        put(&mut out, &[file_len, self.bytes]);
        put(&mut out, &self.grid);
        match &self.places {
            Places::Even { start, strides } => {
                out.push(0);
                put(&mut out, &[*start]);
                put(&mut out, strides);
            }
            Places::Listed(listed) => {
                let long = matches!(listed.lens, Lens::Long(_));
                let flags = u8::from(listed.numbers.is_some())
                    | u8::from(long) << 1
                    | u8::from(!listed.masks.is_empty()) << 2;
                out.extend([1, flags]);
                put(&mut out, &[listed.starts.len() as u64]);
                put(&mut out, &listed.starts);
                put(&mut out, listed.numbers.as_deref().unwrap_or_default());
                match &listed.lens {
                    Lens::Short(lens) => lens.iter().for_each(|n| out.extend(n.to_le_bytes())),
                    Lens::Long(lens) => put(&mut out, lens),
                }
                listed.masks.iter().for_each(|n| out.extend(n.to_le_bytes()));
            }
        }
        out.extend(lookup3(&out).to_le_bytes());
        out
    }

    /// Loads a map that [`to_bytes`](Self::to_bytes) made. It must belong to a file of this length, and say nothing impossible.
    pub fn from_bytes(bytes: &[u8], file_len: u64) -> Result<ChunkMap> {
        let mut cursor = Cursor::new(bytes, 0, Sizes { offset: 8, length: 8 }, "saved chunk map");
        cursor.signature(MAGIC)?;
        cursor.version(VERSION..=VERSION)?;
        let rank = usize::from(cursor.u8()?);
        if cursor.u64()? != file_len {
            return Err(cursor.wrong("it belongs to a file of another length; make it again"));
        }
        let chunk = cursor.u64()?;
        let grid = many(&mut cursor, rank, 8)?;
        let total = grid.iter().try_fold(1u64, |all, &n| all.checked_mul(n));
        let total = total.ok_or_else(|| cursor.wrong("more chunks than can be counted"))?;
        let places = match cursor.u8()? {
            0 => {
                let start = cursor.u64()?;
                let strides = many(&mut cursor, rank, 8)?;
                let last = strides.iter().zip(&grid).try_fold(0u64, |all, (&stride, &n)| {
                    stride.checked_mul(n.checked_sub(1)?).and_then(|part| all.checked_add(part))
                });
                let end = last.and_then(|n| n.checked_add(1)?.checked_mul(chunk)?.checked_add(start));
                if end.is_none_or(|end| end > file_len) {
                    return Err(cursor.wrong("chunks behind the end of the file"));
                }
                Places::Even { start, strides }
            }
            1 => Places::Listed(load(&mut cursor, total, file_len)?),
            _ => return Err(cursor.wrong("a kind of list that is not known")),
        };
        cursor.checksum()?;
        if !cursor.rest().is_empty() {
            return Err(cursor.wrong("it does not end where it should"));
        }
        Ok(ChunkMap { grid, bytes: chunk, places })
    }

    /// Whether this map can belong to a data set with these chunks.
    pub(crate) fn fits(&self, grid: &[u64], bytes: u64) -> bool {
        self.grid == grid && self.bytes == bytes
    }
}

/// Numbers of a width, as wide ones. They are all there before anything is allocated.
fn many(cursor: &mut Cursor<'_>, count: usize, width: usize) -> Result<Vec<u64>> {
    let len = count.checked_mul(width).ok_or_else(|| cursor.wrong("its length"))?;
    let raw = cursor.take(len)?;
    let number = |part: &[u8]| part.iter().rev().fold(0, |wide, &byte| wide << 8 | u64::from(byte));
    Ok(raw.chunks_exact(width).map(number).collect())
}

fn load(cursor: &mut Cursor<'_>, total: u64, file_len: u64) -> Result<Listed> {
    let flags = cursor.u8()?;
    let count = cursor.u64()?;
    let all = flags & 1 == 0;
    if count > total || all && count != total {
        return Err(cursor.wrong("the number of chunks"));
    }
    let count = usize::try_from(count).map_err(|_| cursor.wrong("the number of chunks"))?;
    let starts = many(cursor, count, 8)?;
    let numbers = if all { None } else { Some(many(cursor, count, 8)?) };
    if let Some(numbers) = &numbers
        && (!numbers.is_sorted_by(|a, b| a < b) || numbers.last().is_some_and(|&last| last >= total))
    {
        return Err(cursor.wrong("numbers of chunks that are not in order"));
    }
    let long = flags & 2 != 0;
    let lens = many(cursor, count, if long { 8 } else { 4 })?;
    let masks = if flags & 4 != 0 { many(cursor, count, 4)? } else { Vec::new() };
    let inside =
        |(&start, &len): (&u64, &u64)| start.checked_add(len).is_some_and(|end: u64| end <= file_len);
    if !starts.iter().zip(&lens).all(inside) {
        return Err(Error::Truncated { needs: u64::MAX, has: file_len });
    }
    let lens =
        if long { Lens::Long(lens) } else { Lens::Short(lens.into_iter().map(|n| n as u32).collect()) };
    Ok(Listed { numbers, starts, lens, masks: masks.into_iter().map(|n| n as u32).collect() })
}
