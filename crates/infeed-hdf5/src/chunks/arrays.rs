//! The fixed array: an entry for every chunk of the largest shape, in pages if there are many.

use super::build::{Building, strides};
use crate::{
    cursor::Cursor,
    error::{Error, Result},
    meta::{Meta, TOGETHER},
};

/// Entries of an array of chunks.
pub(super) struct Entries {
    pub(super) size: usize,
    pub(super) filtered: bool,
    pub(super) strides: Vec<u64>,
    /// The axis that stands first in the numbers, though it is another one in the shape.
    pub(super) first: usize,
}

impl Entries {
    /// Reads `count` entries, the first of which is number `from`.
    pub(super) fn take(
        &self,
        building: &mut Building<'_>,
        cursor: &mut Cursor<'_>,
        from: u64,
        count: u64,
    ) -> Result<()> {
        for number in from..from.saturating_add(count) {
            let address = cursor.address()?;
            let (mut len, mut mask) = (building.bytes, 0);
            if self.filtered {
                let width = self.size - usize::from(building.meta.sizes.offset) - 4;
                len = cursor.uint(width)?;
                mask = cursor.u32()?;
            }
            let Some(address) = address else { continue };
            let mut coordinates = Building::coordinates(number, &self.strides);
            coordinates[..=self.first].rotate_left(1);
            building.add(&coordinates, address, len, mask)?;
        }
        Ok(())
    }

    /// Checks what the head of an array says about its entries.
    pub(super) fn check(building: &Building<'_>, cursor: &Cursor<'_>, client: u8, size: u8) -> Result<bool> {
        let (filtered, size, o) = (client == 1, usize::from(size), usize::from(building.meta.sizes.offset));
        let sound = if filtered { (o + 4 + 1..=o + 4 + 8).contains(&size) } else { size == o };
        if client > 1 || filtered != building.filtered || !sound {
            return Err(cursor.wrong("its entries do not fit the data set"));
        }
        Ok(filtered)
    }
}

/// Whether a page was ever written: bits are counted from the highest of each byte.
pub(super) fn has_page(bitmap: &[u8], page: u64) -> bool {
    let byte = usize::try_from(page / 8).ok().and_then(|at| bitmap.get(at));
    byte.is_some_and(|byte| byte & (0x80 >> (page % 8)) != 0)
}

/// Reads a fixed array.
pub(super) fn fixed(building: &mut Building<'_>, address: u64) -> Result<()> {
    let meta: &Meta = building.meta;
    let (o, l) = (u64::from(meta.sizes.offset), u64::from(meta.sizes.length));
    let bytes = meta.read(address, 8 + l + o + 4)?;
    let mut cursor = meta.cursor(&bytes, address, "fixed array");
    cursor.signature(b"FAHD")?;
    cursor.version(0..=0)?;
    let (client, size, page_bits) = (cursor.u8()?, cursor.u8()?, cursor.u8()?);
    let count = cursor.length()?;
    let data = cursor.address()?;
    cursor.checksum()?;
    let filtered = Entries::check(building, &cursor, client, size)?;
    let entries =
        Entries { size: usize::from(size), filtered, strides: strides(&building.max_grid)?, first: 0 };
    let Some(data) = data else { return Ok(()) };
    let page = 1u64.checked_shl(u32::from(page_bits)).ok_or_else(|| cursor.wrong("its pages"))?;
    let size = u64::from(size);
    let head = 6 + o;
    let large = || Error::damaged_at(data, "a fixed array is larger than the file");
    let all = count.checked_mul(size).filter(|&all| all <= meta.len()).ok_or_else(large)?;
    if count <= page {
        let bytes = meta.read(data, head + all + 4)?;
        let mut cursor = meta.cursor(&bytes, data, "fixed array");
        cursor.signature(b"FADB")?;
        cursor.skip((head - 4) as usize)?;
        entries.take(building, &mut cursor, 0, count)?;
        return cursor.checksum();
    }
    let pages = count.div_ceil(page);
    let bitmap_len = pages.div_ceil(8);
    let bytes = meta.read(data, head + bitmap_len + 4)?;
    let mut cursor = meta.cursor(&bytes, data, "fixed array");
    cursor.signature(b"FADB")?;
    cursor.skip((head - 4) as usize)?;
    let bitmap = cursor.take(bitmap_len as usize)?;
    cursor.checksum()?;
    let first = data + head + bitmap_len + 4;
    let there = || (0..pages).filter(|&number| has_page(bitmap, number));
    let place = |number: u64| first + number * (page * size + 4);
    let mut asked = 0;
    for (at, number) in there().enumerate() {
        if at == asked {
            meta.ahead(there().skip(at).map(|number| (place(number), page * size + 4)));
            asked += TOGETHER;
        }
        let (from, len) = (number * page, page.min(count - number * page));
        let place = place(number);
        let bytes = meta.read(place, len * size + 4)?;
        let mut cursor = meta.cursor(&bytes, place, "page of a fixed array");
        entries.take(building, &mut cursor, from, len)?;
        cursor.checksum()?;
    }
    Ok(())
}
