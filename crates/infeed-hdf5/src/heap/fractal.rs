//! The fractal heap: links and attributes of objects that have many of them.
//!
//! Its objects lie in one address space of the heap's own, which is cut into blocks: rows of `width` blocks each, where
//! the blocks of the first two rows have the start size and those of every later row twice that of the row before. Blocks
//! up to a largest size are *direct* (they hold objects); later rows hold *indirect* blocks, which are such tables again.

use crate::{
    cursor::width_of,
    error::{Error, Result},
    filter::{Pipeline, Scratch},
    meta::Meta,
    tree,
};
use bytes::Bytes;

/// A heap, by what its header says.
#[derive(Debug, Clone)]
pub(crate) struct FractalHeap {
    address: u64,
    id_len: usize,
    max_managed: u64,
    huge_tree: Option<u64>,
    width: u64,
    start: u64,
    max_direct: u64,
    bits: u16,
    root: Option<u64>,
    /// Rows of the root; 0 if the root is a direct block.
    rows: u16,
    filters: Option<Filters>,
}

#[derive(Debug, Clone)]
struct Filters {
    pipeline: Pipeline,
    root_len: u64,
    root_mask: u32,
}

impl FractalHeap {
    pub(crate) fn open(meta: &Meta, address: u64) -> Result<FractalHeap> {
        let (o, l) = (u64::from(meta.sizes.offset), u64::from(meta.sizes.length));
        let fixed = 5 + 2 + 2 + 1 + 4 + l + o + l + o + 8 * l + 2 + l + l + 2 + 2 + o + 2;
        let bytes = meta.read(address, fixed)?;
        let mut cursor = meta.cursor(&bytes, address, "fractal heap");
        cursor.signature(b"FRHP")?;
        cursor.version(0..=0)?;
        let (id_len, filter_len) = (usize::from(cursor.u16()?), u64::from(cursor.u16()?));
        cursor.skip(1)?;
        let max_managed = u64::from(cursor.u32()?);
        cursor.length()?;
        let huge_tree = cursor.address()?;
        cursor.skip((l + o + 8 * l) as usize)?;
        let width = u64::from(cursor.u16()?);
        let (start, max_direct) = (cursor.length()?, cursor.length()?);
        let bits = cursor.u16()?;
        cursor.skip(2)?;
        let (root, rows) = (cursor.address()?, cursor.u16()?);
        let sound = start.is_power_of_two() && max_direct.is_power_of_two() && start <= max_direct;
        if !sound || !width.is_power_of_two() || bits > 64 || rows > 64 || max_direct > 1 << 32 {
            return Err(cursor.wrong("its table of blocks is impossible"));
        }
        let whole = fixed + if filter_len > 0 { l + 4 + filter_len } else { 0 } + 4;
        let bytes = meta.read(address, whole)?;
        let mut cursor = meta.cursor(&bytes, address, "fractal heap");
        cursor.skip(fixed as usize)?;
        let mut filters = None;
        if filter_len > 0 {
            let (root_len, root_mask) = (cursor.length()?, cursor.u32()?);
            let mut inside = meta.cursor(cursor.take(filter_len as usize)?, address, "filters of a heap");
            filters = Some(Filters { pipeline: Pipeline::parse(&mut inside, 1)?, root_len, root_mask });
        }
        cursor.checksum()?;
        Ok(FractalHeap {
            address,
            id_len,
            max_managed,
            huge_tree,
            width,
            start,
            max_direct,
            bits,
            root,
            rows,
            filters,
        })
    }

    /// The object of an id.
    pub(crate) fn get(&self, meta: &Meta, id: &[u8]) -> Result<Bytes> {
        let mut cursor = meta.cursor(id, self.address, "heap id");
        let first = cursor.u8()?;
        match (first >> 6, (first >> 4) & 3) {
            (0, 0) => {
                let offset = cursor.uint(usize::from(self.bits).div_ceil(8))?;
                let len = cursor.uint(width_of(self.max_direct.min(self.max_managed)))?;
                self.managed(meta, offset, len)
            }
            (0, 1) => self.huge(meta, &mut cursor),
            (0, 2) => {
                let mut len = usize::from(first & 15);
                if self.id_len > 18 {
                    len = len << 8 | usize::from(cursor.u8()?);
                }
                Ok(Bytes::copy_from_slice(cursor.take(len + 1)?))
            }
            _ => Err(cursor.wrong("a kind of id that is not known")),
        }
    }

    /// Objects too large for blocks: on their own, named by the id itself or by a tree.
    fn huge(&self, meta: &Meta, cursor: &mut crate::cursor::Cursor<'_>) -> Result<Bytes> {
        if self.filters.is_some() {
            return Err(Error::Unsupported("huge filtered objects of a fractal heap".to_owned()));
        }
        let (o, l) = (usize::from(meta.sizes.offset), usize::from(meta.sizes.length));
        if cursor.rest().len() >= o + l && self.id_len > o + l {
            let (address, len) = (cursor.defined()?, cursor.length()?);
            return meta.read(address, len);
        }
        // The key takes what the id has left, and no more than a length.
        let key = cursor.uint(cursor.rest().len().min(l))?;
        let tree = self.huge_tree.ok_or_else(|| cursor.wrong("it has no huge objects"))?;
        let mut found = None;
        tree::v2(meta, tree, 1, &mut |record| {
            let mut record = meta.cursor(record, tree, "huge object");
            let (address, len, own) = (record.defined()?, record.length()?, record.length()?);
            if own == key {
                found = Some((address, len));
            }
            Ok(())
        })?;
        let (address, len) = found.ok_or_else(|| cursor.wrong("a huge object is missing"))?;
        meta.read(address, len)
    }

    fn managed(&self, meta: &Meta, offset: u64, len: u64) -> Result<Bytes> {
        let wrong = |what: &str| Error::damaged_at(self.address, format!("fractal heap: {what}"));
        let Some(mut block) = self.root else { return Err(wrong("an object of an empty heap")) };
        let (mut rows, mut start) = (u64::from(self.rows), 0);
        let root = self.filters.as_ref().map(|filters| (filters.root_len, filters.root_mask));
        if rows == 0 {
            return self.direct(meta, block, self.start, offset, len, root);
        }
        // Rows of blocks get fewer with every step down, so this ends.
        for _ in 0..64 {
            let inside = offset.checked_sub(start).ok_or_else(|| wrong("an offset before its block"))?;
            let row_of = |inside: u64| {
                let first = self.start.saturating_mul(self.width);
                if inside < first { 0 } else { u64::from((inside / first).ilog2()) + 1 }
            };
            let row = row_of(inside);
            if row >= rows {
                return Err(wrong("an offset behind its last row"));
            }
            let size = if row == 0 { self.start } else { self.start << (row - 1).min(63) };
            let row_start = if row == 0 { 0 } else { (self.start * self.width) << (row - 1).min(63) };
            let column =
                inside.checked_sub(row_start).ok_or_else(|| wrong("an offset in no row"))? / size.max(1);
            if column >= self.width {
                return Err(wrong("an offset in no column"));
            }
            let direct_rows = u64::from(self.max_direct.ilog2() - self.start.ilog2()) + 2;
            let child = self.child(meta, block, rows, direct_rows, row * self.width + column)?;
            start = start.saturating_add(row_start).saturating_add(column * size);
            if row < direct_rows {
                return self.direct(meta, child.0, size, offset - start, len, child.1);
            }
            let below =
                u64::from(size.max(1).ilog2()).checked_sub(u64::from((self.start * self.width).ilog2()));
            rows = below.ok_or_else(|| wrong("a table smaller than a row"))? + 1;
            block = child.0;
        }
        Err(wrong("its tables never end"))
    }

    /// The address of an entry of an indirect block, with length and mask if the heap is filtered.
    fn child(
        &self,
        meta: &Meta,
        block: u64,
        rows: u64,
        direct_rows: u64,
        entry: u64,
    ) -> Result<(u64, Option<(u64, u32)>)> {
        let (o, l) = (u64::from(meta.sizes.offset), u64::from(meta.sizes.length));
        let direct = rows.min(direct_rows) * self.width;
        let each = if self.filters.is_some() { o + l + 4 } else { o };
        let head = 5 + o + u64::from(self.bits).div_ceil(8);
        let whole = head + direct * each + (rows * self.width - direct) * o + 4;
        let bytes = meta.read(block, whole)?;
        let mut cursor = meta.cursor(&bytes, block, "indirect block");
        cursor.signature(b"FHIB")?;
        let mut sum = meta.cursor(&bytes, block, "indirect block");
        sum.skip((whole - 4) as usize)?;
        sum.checksum()?;
        let before = if entry < direct { entry * each } else { direct * each + (entry - direct) * o };
        cursor.skip((head - 4 + before) as usize)?;
        let address = cursor.defined()?;
        let filtered = entry < direct && self.filters.is_some();
        let more = if filtered { Some((cursor.length()?, cursor.u32()?)) } else { None };
        Ok((address, more))
    }

    /// An object in a direct block; offsets count the block's own head.
    fn direct(
        &self,
        meta: &Meta,
        block: u64,
        size: u64,
        offset: u64,
        len: u64,
        filtered: Option<(u64, u32)>,
    ) -> Result<Bytes> {
        let wrong = || Error::damaged_at(block, "an object of a fractal heap does not fit into its block");
        let end = offset.checked_add(len).filter(|&end| end <= size).ok_or_else(wrong)?;
        let (Some(filters), Some((stored, mask))) = (&self.filters, filtered) else {
            if !meta.read(block, 5)?.starts_with(b"FHDB") {
                return Err(Error::damaged_at(block, "direct block: the signature FHDB is missing"));
            }
            return meta.read(block.saturating_add(offset), len);
        };
        let stored = meta.read(block, stored)?;
        if size > meta.limits.max_chunk {
            return Err(wrong());
        }
        let mut out = vec![0; size as usize];
        filters.pipeline.decode(&stored, mask, &mut out, &mut Scratch::default())?;
        Ok(Bytes::from(out).slice(offset as usize..end as usize))
    }
}
