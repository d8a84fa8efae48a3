//! The available pixels, restricted to what a render reads.

use crate::Pixels;
use crate::check::Reads;

/// The rows of the pixels that a render reads, without the columns it does not.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) pixels: &'a Pixels<'a>,
    pub(crate) reads: &'a Reads,
}

impl<'a> Source<'a> {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.reads.rows.len()
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.reads.columns.len() * self.pixels.channels
    }

    /// The offset of row `index` in the data.
    pub(crate) fn at(&self, index: usize) -> usize {
        let row = (self.reads.rows.start as usize + index) * self.pixels.stride;
        row + self.reads.columns.start as usize * self.pixels.channels
    }

    /// Row `index` and everything after it.
    pub(crate) fn from(&self, index: usize) -> &'a [u8] {
        &self.pixels.data[self.at(index)..]
    }

    /// Row `index` with at least `len` bytes, through a copy in `edge` where the pixels end before that.
    pub(crate) fn padded<'b>(&self, index: usize, len: usize, edge: &'b mut [u8]) -> &'b [u8]
    where
        'a: 'b,
    {
        let row = self.from(index);
        if row.len() >= len {
            return row;
        }
        edge[..self.row_bytes()].copy_from_slice(&row[..self.row_bytes()]);
        edge
    }
}
