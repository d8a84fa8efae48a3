//! Rows as they lie in batches: the cells of a row beside each other.

use infeed_core::Hold;
use memmap2::MmapMut;
use std::sync::Mutex;

/// From here on memory comes as a mapping of its own, in large pages where the system has them: rows that are picked out
/// of it at random then miss the cache, but not also the table of pages.
const LARGE: usize = 1 << 21;

/// Rows that are put together at a time: their cells stay in the first cache while one column after the other is written.
const TILE: usize = 256;

/// Memory of a block.
#[derive(Debug)]
pub(crate) enum Memory {
    Small(Vec<u8>),
    /// A mapping, and how much of it is used.
    Large(MmapMut, usize),
}

impl Memory {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Memory::Small(bytes) => bytes,
            Memory::Large(map, len) => &map[..*len],
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Memory::Small(bytes) => bytes,
            Memory::Large(map, len) => &mut map[..*len],
        }
    }
}

/// Memory of blocks that were let go. Taking it again costs nothing, while the system must clear every page of a new one.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    maps: Mutex<Vec<MmapMut>>,
}

/// Blocks whose memory is kept.
const SPARES: usize = 8;

impl Spares {
    /// So many bytes, of any value.
    pub(crate) fn take(&self, len: usize) -> std::io::Result<Memory> {
        if len < LARGE {
            return Ok(Memory::Small(vec![0; len]));
        }
        let mut maps = self.maps.hold();
        // Not one that is much too large: it would count for less than it is.
        if let Some(at) = maps.iter().position(|map| (len..=len + len / 4).contains(&map.len())) {
            return Ok(Memory::Large(maps.swap_remove(at), len));
        }
        drop(maps);
        let map = MmapMut::map_anon(len)?;
        #[cfg(target_os = "linux")]
        // A wish: without it everything works, a little slower.
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Memory::Large(map, len))
    }

    /// Keeps memory for the next block.
    pub(crate) fn give(&self, memory: Memory) {
        if let Memory::Large(map, _) = memory {
            let mut maps = self.maps.hold();
            if maps.len() == SPARES {
                maps.remove(0);
            }
            maps.push(map);
        }
    }
}

/// One column on its way into rows.
#[derive(Debug)]
pub(crate) struct Strip<'a> {
    /// Where its cells begin in a row.
    pub(crate) offset: usize,
    /// Bytes of a cell.
    pub(crate) width: usize,
    /// All cells.
    pub(crate) data: &'a [u8],
}

/// Writes columns into rows of `stride` bytes.
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
