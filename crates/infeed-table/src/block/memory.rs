//! Row-major layout of blocks: the cells of a row are adjacent, as in batches.

/// Rows packed at a time: their cells stay in the L1 cache while one column after the other is written.
const TILE: usize = 256;

/// One column to be packed into rows.
#[derive(Debug)]
pub(crate) struct Strip<'a> {
    /// Where its cells begin in a row.
    pub(crate) offset: usize,
    /// Bytes per cell.
    pub(crate) width: usize,
    /// All cells.
    pub(crate) data: &'a [u8],
}

/// Packs columns into rows of `stride` bytes.
pub(crate) fn pack(strips: &[Strip<'_>], stride: usize, out: &mut [u8]) {
    if stride == 0 {
        return;
    }
    for (tile, rows) in out.chunks_mut(TILE * stride).enumerate() {
        let count = rows.len() / stride;
        for strip in strips {
            let from = tile * TILE * strip.width;
            let cells = &strip.data[from..from + count * strip.width];
            match strip.width {
                1 => cells_of::<1>(cells, strip.offset, stride, rows),
                2 => cells_of::<2>(cells, strip.offset, stride, rows),
                4 => cells_of::<4>(cells, strip.offset, stride, rows),
                8 => cells_of::<8>(cells, strip.offset, stride, rows),
                0 => {}
                width => {
                    for (row, cell) in rows.chunks_exact_mut(stride).zip(cells.chunks_exact(width)) {
                        row[strip.offset..strip.offset + width].copy_from_slice(cell);
                    }
                }
            }
        }
    }
}

fn cells_of<const N: usize>(cells: &[u8], offset: usize, stride: usize, rows: &mut [u8]) {
    for (row, cell) in rows.chunks_exact_mut(stride).zip(cells.chunks_exact(N)) {
        row[offset..offset + N].copy_from_slice(cell);
    }
}
