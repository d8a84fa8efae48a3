//! Horizontal filter first: source rows are filtered into a ring of rows, from which finished rows are made.

use std::ops::Range;

use crate::kernel::{BATCH, PAD};
use crate::plan::{GROUP, Plan};
use crate::render::{Pass, Scratch, grow, reserve};
use crate::{Error, Sink, scalar};

impl Pass<'_> {
    /// Not for a vertical filter alone: the ring holds only horizontally filtered rows.
    pub(crate) fn across_first(
        &self,
        height: usize,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        debug_assert!(self.across.is_some() || self.down.is_none_or(|plan| plan.single));
        let slot = (self.row_len + PAD).next_multiple_of(PAD);
        let most = self.down.map_or(1, |plan| plan.most);
        let slots = (most + 2 * BATCH).next_multiple_of(BATCH);
        // A padded tap reads past the row, so the copy of an edge row has room for that too.
        let read = self.across.map_or(0, |plan| plan.reach) * self.finish.channels;
        let read = read.max(self.source.row_bytes()) + PAD;
        grow(&mut scratch.ring, slot * slots)?;
        grow(&mut scratch.row, slot)?;
        grow(&mut scratch.spare, slot)?;
        grow(&mut scratch.edge, read * BATCH)?;
        reserve(&mut scratch.taps, most + GROUP)?;
        let mut ring = Ring { bytes: &mut scratch.ring, slot, slots, filled: 0 };

        for index in 0..height {
            let rows = self.down.map_or(index..index + 1, |plan| plan.sources(index));
            if let Some(across) = self.across {
                self.fill(across, &mut ring, &rows, &mut scratch.edge, read);
            }
            let row = match (self.down.filter(|plan| !plan.single), self.across) {
                (None, None) => self.source.padded(rows.start, self.row_len + PAD, &mut scratch.edge[..read]),
                (None, Some(_)) => {
                    let at = ring.at(rows.start);
                    &ring.bytes[at..at + slot]
                }
                (Some(plan), _) => {
                    scratch.taps.clear();
                    scratch.taps.extend(rows.clone().map(|row| ring.at(row)));
                    // Padding taps have zero weight but are read, so they point at an existing row.
                    scratch.taps.resize(plan.taps, ring.at(rows.start));
                    self.level.vertical(
                        plan,
                        index,
                        ring.bytes,
                        &scratch.taps,
                        self.row_len,
                        &mut scratch.row,
                    );
                    &scratch.row[..slot]
                }
            };
            self.store(row, &mut scratch.spare, (index, height), sink);
        }
        Ok(())
    }

    /// Ensures that `rows` are in the ring.
    fn fill(&self, across: &Plan, ring: &mut Ring<'_>, rows: &Range<usize>, edge: &mut [u8], read: usize) {
        // Rows that no output reads are skipped: there are some if a filter of few taps shrinks a lot.
        ring.filled = ring.filled.max(rows.start / BATCH * BATCH);
        while ring.filled < rows.end {
            let first = ring.filled;
            let at = ring.at(first);
            let out = &mut ring.bytes[at..at + BATCH * ring.slot];
            let last = self.source.rows() - 1;
            if across.single {
                for (index, out) in (first..=last).zip(out.chunks_exact_mut(ring.slot)) {
                    scalar::pick(across, self.finish.channels, self.source.from(index), out);
                }
            } else {
                let mut edges = edge.chunks_exact_mut(read);
                // The last batch repeats the last row rather than having fewer.
                let batch: [&[u8]; BATCH] = std::array::from_fn(|i| {
                    let edge = edges.next().unwrap_or_default();
                    self.source.padded((first + i).min(last), read, edge)
                });
                self.level.horizontal(across, self.finish.channels, batch, out, ring.slot);
            }
            ring.filled += BATCH;
        }
    }
}

/// Horizontally filtered rows; row `r` is in slot `r % slots`.
struct Ring<'a> {
    bytes: &'a mut [u8],
    slot: usize,
    slots: usize,
    /// Rows below this one have been through the ring; a multiple of [`BATCH`], as is `slots`.
    filled: usize,
}

impl Ring<'_> {
    /// The offset of row `row`.
    fn at(&self, row: usize) -> usize {
        row % self.slots * self.slot
    }
}
