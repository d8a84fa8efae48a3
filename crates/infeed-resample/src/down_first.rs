//! Vertical filter first: columns of the source are filtered in place, a batch of rows at a time, and each batch
//! then goes through the horizontal filter.

use crate::kernel::{BATCH, PAD};
use crate::plan::{GROUP, Plan};
use crate::render::{Pass, Scratch, grow, reserve};
use crate::{Error, Sink};

impl Pass<'_> {
    /// `down` is the vertical filter, which must have weights.
    pub(crate) fn down_first(
        &self,
        down: &Plan,
        height: usize,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let slot = (self.row_len + PAD).next_multiple_of(PAD);
        // A padded tap reads past the row; it reads stale data, but with zero weight.
        let reach = self.across.map_or(0, |plan| plan.reach) * self.finish.channels;
        let wide = (reach.max(self.source.row_bytes()) + PAD).next_multiple_of(PAD);
        grow(&mut scratch.ring, wide * BATCH)?;
        grow(&mut scratch.row, slot * BATCH)?;
        grow(&mut scratch.spare, slot)?;
        let Scratch { ring, row, spare, edge, taps } = scratch;
        reserve(taps, down.most + GROUP)?;

        for first in (0..height).step_by(BATCH) {
            let batch = first..height.min(first + BATCH);
            for (index, out) in batch.clone().zip(ring.chunks_exact_mut(wide)) {
                self.columns(down, index, edge, taps, out)?;
            }
            let (rows, slot) = match self.across {
                None => (&ring[..], wide),
                Some(across) => {
                    // The last batch may have fewer rows; the others are filtered, too, and discarded.
                    let rows = std::array::from_fn(|i| &ring[i * wide..(i + 1) * wide]);
                    let out = &mut row[..slot * BATCH];
                    self.level.horizontal(across, self.finish.channels, rows, out, slot);
                    (&row[..], slot)
                }
            };
            for (index, row) in batch.zip(rows.chunks_exact(slot)) {
                self.store(row, spare, (index, height), sink);
            }
        }
        Ok(())
    }

    /// Filters the columns that the render reads into row `index` of the window.
    fn columns(
        &self,
        down: &Plan,
        index: usize,
        edge: &mut Vec<u8>,
        taps: &mut Vec<usize>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let rows = down.sources(index);
        let bytes = self.source.row_bytes();
        let mut data = self.source.pixels.data;
        taps.clear();
        taps.extend(rows.clone().map(|row| self.source.at(row)));
        if taps.iter().any(|at| at + bytes + PAD > data.len()) {
            // One slice has to hold all rows, so where the last one needs a copy the others get one too.
            let slot = bytes + PAD;
            grow(edge, slot * rows.len())?;
            for (i, row) in rows.enumerate() {
                edge[i * slot..][..bytes].copy_from_slice(&self.source.from(row)[..bytes]);
                taps[i] = i * slot;
            }
            data = edge;
        }
        // Padding taps have zero weight but are read, so they point at an existing row.
        taps.resize(down.taps, taps.first().copied().unwrap_or(0));
        self.level.vertical(down, index, data, taps, bytes, out);
        Ok(())
    }
}
