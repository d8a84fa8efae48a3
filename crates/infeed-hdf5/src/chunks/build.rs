//! Reads the chunk map out of whatever index a data set has.

use super::{ChunkMap, Found, Places, arrays, extensible, listed};
use crate::{
    dataset::Dataset,
    error::{Error, Result},
    layout::{ChunkIndex, Layout},
    meta::Meta,
    tree,
};

/// What is known while an index is read.
pub(super) struct Building<'a> {
    pub(super) meta: &'a Meta,
    pub(super) chunk: &'a [u64],
    pub(super) bytes: u64,
    pub(super) filtered: bool,
    /// Chunks along each axis now, and with the largest shape.
    pub(super) grid: Vec<u64>,
    pub(super) max_grid: Vec<Option<u64>>,
    pub(super) found: Vec<Found>,
}

impl Building<'_> {
    /// Adds a chunk, unless it lies outside of the shape.
    pub(super) fn add(&mut self, coordinates: &[u64], address: u64, len: u64, mask: u32) -> Result<()> {
        if coordinates.iter().zip(&self.grid).any(|(at, n)| at >= n) {
            return Ok(());
        }
        let limit = self.meta.limits.max_chunks;
        if self.found.len() as u64 >= limit {
            return Err(Error::TooLarge { what: "a number of chunks", size: limit + 1, limit });
        }
        if !self.filtered && len != self.bytes {
            return Err(Error::damaged_at(
                address,
                format!("a chunk of {} bytes is stored in {len}", self.bytes),
            ));
        }
        let start = self.meta.place(address, len)?;
        let number = self.grid.iter().zip(coordinates).fold(0, |number, (&n, &at)| number * n + at);
        self.found.push(Found { number, start, len, mask });
        Ok(())
    }

    /// Coordinates of a number, counted with other strides: the first axis has no end.
    pub(super) fn coordinates(number: u64, strides: &[u64]) -> Vec<u64> {
        let mut rest = number;
        strides
            .iter()
            .map(|&stride| {
                let at = rest / stride.max(1);
                rest %= stride.max(1);
                at
            })
            .collect()
    }
}

/// The map of a chunked data set.
pub(crate) fn read(meta: &Meta, dataset: &Dataset) -> Result<ChunkMap> {
    let Layout::Chunked { chunk, index, address, bare_edges } = &dataset.layout else {
        return Err(Error::Request(format!("{} is not chunked", dataset.path)));
    };
    let bytes = dataset.chunk_bytes(&meta.limits)?;
    let space = &dataset.space;
    let across = |shape: u64, chunk: u64| shape.div_ceil(chunk);
    let grid: Vec<u64> = space.shape.iter().zip(chunk).map(|(&n, &c)| across(n, c)).collect();
    let total = grid.iter().try_fold(1u64, |all, &n| all.checked_mul(n));
    total.ok_or_else(|| Error::damaged("more chunks than can be counted"))?;
    let max_grid = space.max.iter().zip(chunk).map(|(n, &c)| n.map(|n| across(n, c))).collect();
    let filtered = !dataset.pipeline.filters.is_empty();
    let mut building = Building { meta, chunk, bytes, filtered, grid, max_grid, found: Vec::new() };
    if let (Some(address), true) = (*address, total != Some(0)) {
        match index {
            ChunkIndex::TreeV1 => old_tree(&mut building, address)?,
            ChunkIndex::TreeV2 => new_tree(&mut building, address)?,
            ChunkIndex::Single(None) => {
                let origin = vec![0; chunk.len()];
                building.add(&origin, address, bytes, 0)?;
            }
            ChunkIndex::Single(Some((len, mask))) => {
                let origin = vec![0; chunk.len()];
                building.filtered = true;
                building.add(&origin, address, *len, *mask)?;
            }
            ChunkIndex::Implicit => return implicit(building, address),
            ChunkIndex::FixedArray => arrays::fixed(&mut building, address)?,
            ChunkIndex::ExtensibleArray => extensible::read(&mut building, address)?,
        }
    }
    let Building { grid, mut found, .. } = building;
    if *bare_edges {
        // Chunks that stick out of the shape were stored without filters, whatever their mask says.
        for one in &mut found {
            let mut rest = one.number;
            for (axis, &n) in grid.iter().enumerate().rev() {
                let at = rest % n;
                rest /= n;
                if (at + 1).saturating_mul(chunk[axis]) > space.shape[axis] {
                    one.mask = u32::MAX;
                }
            }
        }
    }
    listed(grid, bytes, found)
}

/// The old tree tells lengths, masks and where chunks begin in elements.
fn old_tree(building: &mut Building<'_>, root: u64) -> Result<()> {
    let (meta, chunk) = (building.meta, building.chunk);
    let key = 8 + 8 * (chunk.len() + 1);
    tree::v1(meta, root, 1, key, &mut |key, address| {
        let mut cursor = meta.cursor(key, root, "key of a chunk");
        let (len, mask) = (u64::from(cursor.u32()?), cursor.u32()?);
        let mut coordinates = Vec::with_capacity(chunk.len());
        for &n in chunk {
            let at = cursor.u64()?;
            if at % n != 0 {
                return Err(cursor.wrong("a chunk does not begin at a multiple of its shape"));
            }
            coordinates.push(at / n);
        }
        building.add(&coordinates, address, len, mask)
    })
}

/// The new tree tells coordinates in chunks.
fn new_tree(building: &mut Building<'_>, root: u64) -> Result<()> {
    let (meta, rank) = (building.meta, building.chunk.len());
    let o = usize::from(meta.sizes.offset);
    let kind = if building.filtered { 11 } else { 10 };
    tree::v2(meta, root, kind, &mut |record| {
        let mut cursor = meta.cursor(record, root, "record of a chunk");
        let address = cursor.address()?;
        let (mut len, mut mask) = (building.bytes, 0);
        if building.filtered {
            // The width of lengths depends on versions; it is what the others leave.
            let width = record.len().checked_sub(o + 4 + 8 * rank);
            len = cursor.uint(width.ok_or_else(|| cursor.wrong("too short"))?)?;
            mask = cursor.u32()?;
        }
        let coordinates = (0..rank).map(|_| cursor.u64()).collect::<Result<Vec<u64>>>()?;
        match address {
            Some(address) => building.add(&coordinates, address, len, mask),
            None => Ok(()),
        }
    })
}

/// All chunks of the largest shape, one behind the other.
fn implicit(building: Building<'_>, address: u64) -> Result<ChunkMap> {
    let Building { meta, bytes, grid, max_grid, .. } = building;
    let strides = strides(&max_grid[..])?;
    let last = strides.iter().zip(&grid).try_fold(0u64, |all, (&stride, &n)| {
        stride.checked_mul(n - 1).and_then(|part| all.checked_add(part))
    });
    let total = last.and_then(|last| last.checked_add(1)).and_then(|n| n.checked_mul(bytes));
    let total = total.ok_or_else(|| Error::damaged("more chunks than can be counted"))?;
    let start = meta.place(address, total)?;
    Ok(ChunkMap { grid, bytes, places: Places::Even { start, strides } })
}

/// How far apart neighbours along each axis are; only the first axis may be without end.
pub(super) fn strides(grid: &[Option<u64>]) -> Result<Vec<u64>> {
    let mut out = vec![1; grid.len()];
    for axis in (1..grid.len()).rev() {
        let n =
            grid[axis].ok_or_else(|| Error::damaged("an index for fixed shapes, and a shape without end"))?;
        let product = u64::checked_mul(out[axis], n);
        out[axis - 1] = product.ok_or_else(|| Error::damaged("more chunks than can be counted"))?;
    }
    Ok(out)
}
