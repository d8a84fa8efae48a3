//! The extensible array: entries along an axis without end.
//!
//! The first entries are in the index block itself. Behind it come data blocks, in groups: group `g` has `2^(g/2)` blocks
//! of `least * 2^((g+1)/2)` entries. The blocks of the first groups are named by the index block, those of each later group
//! by a secondary block. Large data blocks are cut into pages, and the secondary block tells which pages are there.

use super::{
    arrays::{Entries, has_page},
    build::{Building, strides},
};
use crate::{
    cursor::Cursor,
    error::{Error, Result},
};

struct Array {
    address: u64,
    entries: Entries,
    /// Bytes of a number of entries.
    offset_width: u64,
    least: u64,
    page: u64,
    /// No entry at or behind this one was ever set.
    end: u64,
}

/// Reads an extensible array.
pub(super) fn read(building: &mut Building<'_>, address: u64) -> Result<()> {
    let meta = building.meta;
    let (o, l) = (u64::from(meta.sizes.offset), u64::from(meta.sizes.length));
    let bytes = meta.read(address, 12 + 6 * l + o + 4)?;
    let mut cursor = meta.cursor(&bytes, address, "extensible array");
    cursor.signature(b"EAHD")?;
    cursor.version(0..=0)?;
    let (client, size, bits) = (cursor.u8()?, cursor.u8()?, cursor.u8()?);
    let (inside, least, pointers) =
        (u64::from(cursor.u8()?), u64::from(cursor.u8()?), u64::from(cursor.u8()?));
    let page_bits = cursor.u8()?;
    cursor.skip(4 * l as usize)?;
    let end = cursor.length()?;
    cursor.length()?;
    let index = cursor.address()?;
    cursor.checksum()?;
    let filtered = Entries::check(building, &cursor, client, size)?;
    let sound = least.is_power_of_two() && pointers.is_power_of_two() && bits <= 64 && page_bits < 32;
    if !sound || u64::from(bits) < u64::from(least.ilog2()) {
        return Err(cursor.wrong("its blocks are impossible"));
    }
    let Some(index) = index else { return Ok(()) };
    // The axis without end is counted first, wherever it stands in the shape.
    let first = building.max_grid.iter().position(Option::is_none).unwrap_or(0);
    let mut turned = building.max_grid.clone();
    turned[..=first].rotate_right(1);
    let entries = Entries { size: usize::from(size), filtered, strides: strides(&turned)?, first };
    let groups = 1 + u64::from(bits) - u64::from(least.ilog2());
    let direct_groups = (2 * u64::from(pointers.ilog2())).min(groups);
    let direct_blocks = 2 * (pointers - 1);
    let offset_width = u64::from(bits).div_ceil(8);
    let array = Array { address, entries, offset_width, least, page: 1 << page_bits, end };

    let whole = 6 + o + inside * u64::from(size) + (direct_blocks + groups - direct_groups) * o + 4;
    let bytes = meta.read(index, whole)?;
    let mut cursor = meta.cursor(&bytes, index, "index block");
    let mut sum = cursor.clone();
    sum.skip(whole as usize - 4)?;
    sum.checksum()?;
    cursor.signature(b"EAIB")?;
    cursor.skip(2)?;
    array.check_owner(cursor.address()?, index)?;
    array.entries.take(building, &mut cursor, 0, inside)?;
    array.ask_ahead(building, cursor.clone(), groups, direct_groups)?;
    let mut from = inside;
    for group in 0..groups {
        let (blocks, each) = array.group(group)?;
        if from >= array.end {
            break;
        }
        let total = blocks.checked_mul(each).ok_or_else(|| cursor.wrong("too many entries"))?;
        if group < direct_groups {
            for block in 0..blocks {
                if let Some(address) = cursor.address()? {
                    array.block(building, address, from.saturating_add(block * each), each, None)?;
                }
            }
        } else if let Some(address) = cursor.address()? {
            array.secondary(building, address, from, blocks, each)?;
        }
        from = from.saturating_add(total);
    }
    Ok(())
}

impl Array {
    /// Blocks of a group, and entries of each.
    fn group(&self, group: u64) -> Result<(u64, u64)> {
        let blocks = 1u64.checked_shl((group / 2) as u32);
        let each = 1u64.checked_shl(group.div_ceil(2) as u32).and_then(|n| n.checked_mul(self.least));
        blocks.zip(each).ok_or_else(|| Error::damaged_at(self.address, "extensible array: too many entries"))
    }

    /// Bytes of a data block or its pages, and of a secondary block.
    fn lengths(&self, building: &Building<'_>, blocks: u64, each: u64) -> (u64, u64) {
        let o = u64::from(building.meta.sizes.offset);
        let pages = if each > self.page { each / self.page } else { 0 };
        let head = 6 + o + self.offset_width;
        let data = each.saturating_mul(self.entries.size as u64).saturating_add(head + 4 + 4 * pages);
        let bits = blocks.saturating_mul(pages.div_ceil(8));
        (data, blocks.saturating_mul(o).saturating_add(bits).saturating_add(head + 4))
    }

    /// Asks for the blocks that the index block names, all at once.
    fn ask_ahead(
        &self,
        building: &Building<'_>,
        mut cursor: Cursor<'_>,
        groups: u64,
        direct_groups: u64,
    ) -> Result<()> {
        let mut wanted = Vec::new();
        for group in 0..groups {
            let Ok((blocks, each)) = self.group(group) else { break };
            let (data, secondary) = self.lengths(building, blocks, each);
            let (count, len) = if group < direct_groups { (blocks, data) } else { (1, secondary) };
            for _ in 0..count {
                wanted.extend(cursor.address()?.map(|address| (address, len)));
            }
        }
        building.meta.ahead(wanted);
        Ok(())
    }

    fn check_owner(&self, owner: Option<u64>, block: u64) -> Result<()> {
        if owner == Some(self.address) {
            return Ok(());
        }
        Err(Error::damaged_at(block, "a block of an extensible array belongs to another one"))
    }

    /// A secondary block: which pages are there, and where the data blocks are.
    fn secondary(
        &self,
        building: &mut Building<'_>,
        address: u64,
        from: u64,
        blocks: u64,
        each: u64,
    ) -> Result<()> {
        let meta = building.meta;
        let o = u64::from(meta.sizes.offset);
        let pages = if each > self.page { each / self.page } else { 0 };
        let bitmap_len = blocks.saturating_mul(pages.div_ceil(8));
        let head = 6 + o + self.offset_width;
        let whole = blocks
            .checked_mul(o)
            .and_then(|n| n.checked_add(bitmap_len))
            .and_then(|n| n.checked_add(head + 4));
        let whole =
            whole.ok_or_else(|| Error::damaged_at(address, "a secondary block larger than the file"))?;
        let bytes = meta.read(address, whole)?;
        let mut cursor = meta.cursor(&bytes, address, "secondary block");
        cursor.signature(b"EASB")?;
        cursor.skip(2)?;
        self.check_owner(cursor.address()?, address)?;
        cursor.skip(self.offset_width as usize)?;
        let bitmap = cursor.take(bitmap_len as usize)?;
        let (len, _) = self.lengths(building, blocks, each);
        let mut named = cursor.clone();
        let addresses = (0..blocks).map_while(|_| named.address().ok()).flatten();
        meta.ahead(addresses.map(|address| (address, len)));
        for block in 0..blocks {
            let first = from.saturating_add(block * each);
            if let Some(address) = cursor.address()?.filter(|_| first < self.end) {
                let pages = (pages > 0).then_some((bitmap, block * pages));
                self.block(building, address, first, each, pages)?;
            }
        }
        cursor.checksum()
    }

    /// A data block. `pages` are the bits of the pages that are there, and the number of the block's first one.
    fn block(
        &self,
        building: &mut Building<'_>,
        address: u64,
        from: u64,
        count: u64,
        pages: Option<(&[u8], u64)>,
    ) -> Result<()> {
        let meta = building.meta;
        let head = 6 + u64::from(meta.sizes.offset) + self.offset_width;
        let size = self.entries.size as u64;
        let (Some((bitmap, first)), true) = (pages, count > self.page) else {
            let large = || Error::damaged_at(address, "a data block larger than the file");
            let all = count.checked_mul(size).filter(|&all| all <= meta.len()).ok_or_else(large)?;
            let bytes = meta.read(address, head + all + 4)?;
            let mut cursor = meta.cursor(&bytes, address, "data block");
            cursor.signature(b"EADB")?;
            cursor.skip(2)?;
            self.check_owner(cursor.address()?, address)?;
            cursor.skip(self.offset_width as usize)?;
            self.entries.take(building, &mut cursor, from, count)?;
            return cursor.checksum();
        };
        for page in (0..count / self.page).filter(|page| has_page(bitmap, first + page)) {
            let before =
                page.checked_mul(self.page * size + 4).and_then(|before| before.checked_add(head + 4));
            let place = before.and_then(|before| before.checked_add(address));
            let place =
                place.ok_or_else(|| Error::damaged_at(address, "a page behind the end of the file"))?;
            let bytes = meta.read(place, self.page * size + 4)?;
            let mut cursor = meta.cursor(&bytes, place, "page of a data block");
            self.entries.take(building, &mut cursor, from.saturating_add(page * self.page), self.page)?;
            cursor.checksum()?;
        }
        Ok(())
    }
}
