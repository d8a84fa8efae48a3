//! Row-major layout of blocks: the cells of a row are adjacent, as in batches.

use crate::shard::limit::probe;
use infeed_core::{Hold, Result};
use std::sync::Mutex;

/// Buffers from this size on are kept for the next block; smaller ones are cheap to allocate.
const LARGE: usize = 1 << 21;

/// Rows packed at a time: their cells stay in the L1 cache while one column after the other is written.
const TILE: usize = 256;

/// Buffers of evicted blocks. Reusing one is free, while the system must clear every page of a new one.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    free: Mutex<Vec<Vec<u8>>>,
}

/// Number of buffers that are kept.
const SPARES: usize = 8;

impl Spares {
    /// Returns a buffer of `len` bytes with unspecified contents.
    pub(crate) fn take(&self, len: usize) -> Result<Vec<u8>> {
        if len >= LARGE {
            let mut free = self.free.hold();
            // Not one that is much too large: the cache would underestimate its size.
            let fits = |memory: &Vec<u8>| (len..=len + len / 4).contains(&memory.capacity());
            if let Some(at) = free.iter().position(fits) {
                let mut memory = free.swap_remove(at);
                drop(free);
                memory.resize(len, 0);
                return Ok(memory);
            }
        }
        fresh(len)
    }

    /// Keeps a buffer for the next block.
    pub(crate) fn give(&self, memory: Vec<u8>) {
        if memory.len() < LARGE {
            return;
        }
        let mut free = self.free.hold();
        if free.len() == SPARES {
            free.remove(0);
        }
        free.push(memory);
    }
}

/// New memory of zeros. The system hands large pieces out as zeros, so that asking for them costs nothing, unlike writing them;
/// asking first whether there is as much makes an error of what would end the process.
fn fresh(len: usize) -> Result<Vec<u8>> {
    probe(len as u64)?;
    Ok(vec![0; len])
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_where_it_fits() {
        let spares = Spares::default();
        let first = spares.take(LARGE + 100).unwrap();
        let address = first.as_ptr();
        spares.give(first);
        let larger = spares.take(2 * LARGE).unwrap();
        assert_ne!(larger.as_ptr(), address, "too small");
        let again = spares.take(LARGE + 50).unwrap();
        assert_eq!((again.as_ptr(), again.len()), (address, LARGE + 50));
        spares.give(again);
        assert_eq!(spares.take(LARGE + 100).unwrap().len(), LARGE + 100);
    }
}
