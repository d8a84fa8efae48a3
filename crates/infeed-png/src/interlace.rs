//! Adam7: seven sub-images, each a coarser grid of the whole.

use crate::Header;

/// A grid of pixels: those at `x0 + i * dx`, `y0 + j * dy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) x0: usize,
    pub(crate) y0: usize,
    pub(crate) dx: usize,
    pub(crate) dy: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// `x0, y0, dx, dy` of each pass.
const PASSES: [[usize; 4]; 7] =
    [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];

/// The passes that hold pixels; an empty one takes no bytes in the stream, not even filter types.
pub(crate) fn passes(header: &Header) -> impl Iterator<Item = Grid> {
    let (w, h) = (header.width as usize, header.height as usize);
    PASSES.into_iter().filter_map(move |[x0, y0, dx, dy]| {
        let width = w.saturating_sub(x0).div_ceil(dx);
        let height = h.saturating_sub(y0).div_ceil(dy);
        (width > 0 && height > 0).then_some(Grid { x0, y0, dx, dy, width, height })
    })
}

/// Copies pixels of `size` bytes to every `dx`-th place of an output row, beginning at `x0`.
pub(crate) fn scatter(pixels: &[u8], size: usize, grid: &Grid, row: &mut [u8]) {
    let places = row[grid.x0 * size..].chunks_mut(grid.dx * size);
    for (pixel, place) in pixels.chunks_exact(size).zip(places) {
        place[..size].copy_from_slice(pixel);
    }
}
