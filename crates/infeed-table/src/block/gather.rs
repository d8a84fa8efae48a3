//! Copies rows of decoded blocks into batches.
//!
//! The rows of a shuffled batch are scattered over blocks far larger than a cache, so each row costs a cache miss or
//! two. With one field per column, a row goes to many arrays, and fetching it again for each of them costs three
//! times as much as fetching it once. So rows are processed in tiles: a few rows are copied whole into a tile that
//! stays in the L1 cache, and from there field by field to their arrays.

use crate::{
    block::{Cells, Decoded, FieldSet, fault},
    source::TableSource,
};
use infeed_core::{Error, Result};
use std::{ops::Range, sync::Arc};

/// Bytes per tile: half of the smallest L1 cache, so that the output fits beside it.
const TILE: usize = 16 << 10;

/// Cells of at least this many bytes are copied directly: the copy dominates the cost, not the lookup.
const WIDE: usize = 64;

/// The offset of a field's cells in a row, and their size in bytes.
#[derive(Debug, Clone, Copy)]
struct CellPlace {
    offset: usize,
    width: usize,
}

impl TableSource {
    /// Copies the cells of all fields of the set, each field to its part of `out`.
    pub(crate) fn gather(
        &self,
        decoded: &[Arc<Decoded>],
        places: &[(u32, u32)],
        set: &FieldSet,
        out: &mut [&mut [u8]],
    ) -> Result<()> {
        let Some(first) = decoded.first() else { return Ok(()) };
        let mut cells = Vec::with_capacity(out.len());
        for (at, out) in out.iter().enumerate() {
            let cell = self.cell(decoded, places, set, at)?;
            if out.len() != places.len() * cell.width {
                let (name, width) = (&set.names[at], cell.width);
                let what =
                    format!("field `{name}`: {} rows of {width} bytes for {}", places.len(), out.len());
                return Err(Error::Internal { what });
            }
            cells.push(cell);
        }
        let rows = BlockRows { blocks: decoded.iter().map(|b| &*b.memory).collect(), stride: first.stride };
        // The part of a row that contains all narrow cells, and how many of its bytes they take.
        let narrow = || cells.iter().filter(|cell| (1..WIDE).contains(&cell.width));
        let from = narrow().map(|cell| cell.offset).min().unwrap_or(0);
        let to = narrow().map(|cell| cell.offset + cell.width).max().unwrap_or(0);
        let bytes: usize = narrow().map(|cell| cell.width).sum();
        // A single array is filled as fast without a tile, and with large gaps between cells the tile
        // would copy the gaps too.
        let tiled = narrow().count() > 1 && to - from <= 4 * bytes;
        for (cell, out) in cells.iter().zip(out.iter_mut()) {
            if cell.width >= WIDE || (cell.width > 0 && !tiled) {
                rows.straight(places, *cell, out);
            }
        }
        if tiled {
            rows.tiled(places, from..to, &cells, out);
        }
        Ok(())
    }

    /// Returns where a field is in the rows of all blocks. Fails if a requested row has no number there.
    fn cell(
        &self,
        decoded: &[Arc<Decoded>],
        places: &[(u32, u32)],
        set: &FieldSet,
        at: usize,
    ) -> Result<CellPlace> {
        let name = &set.names[at];
        let mut found: Option<CellPlace> = None;
        let mut faulty = false;
        for block in decoded {
            let Cells::Packed { offset, width, faults } = &block.cells[at] else {
                return Err(Error::Internal { what: format!("field `{name}` is not stored in rows") });
            };
            faulty |= !faults.is_empty();
            let own = found.get_or_insert(CellPlace { offset: *offset, width: *width });
            if (own.offset, own.width) != (*offset, *width) {
                return Err(Error::Internal {
                    what: format!("field `{name}` has another offset in some blocks"),
                });
            }
        }
        if faulty {
            for (slot, row) in places {
                if let Cells::Packed { faults, .. } = &decoded[*slot as usize].cells[at]
                    && let Some((column, why)) = fault(faults, *row as usize)
                {
                    let place = self.spec.require(name, "read")?;
                    let dtype = self.spec.fields[place].1.dtype;
                    return Err(self.blame(&set.made[at], column, why, dtype).in_field(name));
                }
            }
        }
        Ok(found.unwrap_or(CellPlace { offset: 0, width: 0 }))
    }
}

/// The rows of some blocks.
struct BlockRows<'a> {
    blocks: Vec<&'a [u8]>,
    /// Bytes per row: the same in all blocks of a set of fields.
    stride: usize,
}

impl BlockRows<'_> {
    #[inline]
    fn row(&self, (slot, row): (u32, u32)) -> &[u8] {
        &self.blocks[slot as usize][row as usize * self.stride..][..self.stride]
    }

    /// Copies one field, row by row.
    fn straight(&self, places: &[(u32, u32)], CellPlace { offset, width }: CellPlace, out: &mut [u8]) {
        match width {
            4 => self.straight_of::<4>(places, offset, out),
            8 => self.straight_of::<8>(places, offset, out),
            _ => {
                for (place, cell) in places.iter().zip(out.chunks_exact_mut(width)) {
                    cell.copy_from_slice(&self.row(*place)[offset..][..width]);
                }
            }
        }
    }

    /// For cells of one number: the compiler turns the copy into a load and a store.
    fn straight_of<const N: usize>(&self, places: &[(u32, u32)], offset: usize, out: &mut [u8]) {
        for (place, cell) in places.iter().zip(out.chunks_exact_mut(N)) {
            cell.copy_from_slice(&self.row(*place)[offset..][..N]);
        }
    }

    /// Copies all narrow fields, through tiles of the part of each row that contains them.
    fn tiled(&self, places: &[(u32, u32)], part: Range<usize>, cells: &[CellPlace], out: &mut [&mut [u8]]) {
        let stride = part.len();
        let most = (TILE / stride).clamp(16, 256);
        let mut tile = vec![0; most.min(places.len()) * stride];
        for (number, places) in places.chunks(most).enumerate() {
            for (place, row) in places.iter().zip(tile.chunks_exact_mut(stride)) {
                row.copy_from_slice(&self.row(*place)[part.clone()]);
            }
            let rows = &tile[..places.len() * stride];
            for (cell, out) in cells.iter().zip(out.iter_mut()) {
                let CellPlace { offset, width } = *cell;
                if !(1..WIDE).contains(&width) {
                    continue;
                }
                let offset = offset - part.start;
                let cells = &mut out[number * most * width..][..places.len() * width];
                match width {
                    1 => spread::<1>(rows, stride, offset, cells),
                    2 => spread::<2>(rows, stride, offset, cells),
                    4 => spread::<4>(rows, stride, offset, cells),
                    8 => spread::<8>(rows, stride, offset, cells),
                    _ => {
                        for (row, cell) in rows.chunks_exact(stride).zip(cells.chunks_exact_mut(width)) {
                            cell.copy_from_slice(&row[offset..][..width]);
                        }
                    }
                }
            }
        }
    }
}

/// Copies the cells of one field out of a tile.
fn spread<const N: usize>(rows: &[u8], stride: usize, offset: usize, out: &mut [u8]) {
    for (row, cell) in rows.chunks_exact(stride).zip(out.chunks_exact_mut(N)) {
        cell.copy_from_slice(&row[offset..][..N]);
    }
}
