//! The pass itself: rows in, filtered rows through a ring, finished rows out.

use std::ops::Range;

use crate::check::{Reads, check};
use crate::kernel::{BATCH, Finish, Level, PAD};
use crate::plan::{Plan, Plans};
use crate::{Axis, Error, Filter, Pixels, Sink, scalar};

/// Renders pictures. Keeps its scratch memory and recent coefficients, so use one per thread for long.
#[derive(Debug)]
pub struct Resampler {
    level: Level,
    plans: Plans,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    /// Horizontally filtered rows; row `r` is in slot `r % slots`.
    ring: Vec<u8>,
    /// The row being finished.
    row: Vec<u8>,
    /// The same, flipped.
    spare: Vec<u8>,
    /// Copies of source rows that end too close to the end of the pixels.
    edge: Vec<u8>,
    /// Where in the ring the rows under the vertical filter are.
    taps: Vec<usize>,
}

impl Default for Resampler {
    fn default() -> Self {
        Self::new()
    }
}

impl Resampler {
    /// A resampler that uses the fastest instructions of this machine.
    pub fn new() -> Self {
        Self::with_level(Level::best())
    }

    pub(crate) fn with_level(level: Level) -> Self {
        Resampler { level, plans: Plans::default(), scratch: Scratch::default() }
    }

    /// Resizes `pixels` along both axes and stores the windows of the result in `sink`.
    ///
    /// `antialias: false` changes [`Filter::Bilinear`] and [`Filter::Bicubic`] to a fixed number of taps, as
    /// `torch.nn.functional.interpolate` has it; the other filters do not heed it.
    ///
    /// # Errors
    ///
    /// When the picture, the axes, the pixels at hand and the sink do not fit each other. Nothing has been
    /// written then.
    pub fn render(
        &mut self,
        pixels: &Pixels<'_>,
        x: &Axis,
        y: &Axis,
        filter: Filter,
        antialias: bool,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let Some(reads) = check(pixels, x, y, filter, antialias, sink)? else {
            return Ok(());
        };
        let across = (!x.is_copy()).then(|| self.plans.find(x, filter, antialias, self.level));
        let down = (!y.is_copy()).then(|| self.plans.find(y, filter, antialias, self.level));
        let finish = Finish::new(sink, pixels.channels, x.len());
        let pass = Pass {
            level: self.level,
            source: Source { pixels, reads: &reads },
            across: across.map(|place| self.plans.get(place)),
            down: down.map(|place| self.plans.get(place)),
            row_len: x.len() * pixels.channels,
            finish,
        };
        pass.run(y.len(), &mut self.scratch, sink);
        Ok(())
    }
}

/// The rows of the pixels that a render reads, without the columns it does not.
#[derive(Clone, Copy)]
struct Source<'a> {
    pixels: &'a Pixels<'a>,
    reads: &'a Reads,
}

impl<'a> Source<'a> {
    /// Rows there are.
    fn rows(&self) -> usize {
        self.reads.rows.len()
    }

    /// Bytes of a row.
    fn row_bytes(&self) -> usize {
        self.reads.columns.len() * self.pixels.channels
    }

    /// Row `index` and everything after it.
    fn from(&self, index: usize) -> &'a [u8] {
        let row = (self.reads.rows.start as usize + index) * self.pixels.stride;
        &self.pixels.data[row + self.reads.columns.start as usize * self.pixels.channels..]
    }

    /// Row `index` with at least `len` bytes, through a copy in `edge` where the pixels end before that.
    fn padded<'b>(&self, index: usize, len: usize, edge: &'b mut [u8]) -> &'b [u8]
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

struct Pass<'a> {
    level: Level,
    source: Source<'a>,
    across: Option<&'a Plan>,
    down: Option<&'a Plan>,
    /// Bytes of a row of the window.
    row_len: usize,
    finish: Finish,
}

impl Pass<'_> {
    fn run(&self, height: usize, scratch: &mut Scratch, sink: &mut Sink<'_>) {
        let slot = (self.row_len + PAD).next_multiple_of(PAD);
        let most = self.down.map_or(1, |plan| plan.most);
        let slots = (most + 2 * BATCH).next_multiple_of(BATCH);
        // A padded tap reads past the row, so the copy of an edge row has room for that too.
        let read = self.across.map_or(0, |plan| plan.reach) * self.finish.channels;
        let read = read.max(self.source.row_bytes()) + PAD;
        grow(&mut scratch.ring, slot * slots);
        grow(&mut scratch.row, slot);
        grow(&mut scratch.spare, slot);
        grow(&mut scratch.edge, read * BATCH);
        let mut ring = Ring { bytes: &mut scratch.ring, slot, slots, filled: 0 };

        for index in 0..height {
            let rows = self.rows_of(index);
            let weighted = self.down.filter(|plan| !plan.single);
            let row = match (weighted, self.across) {
                (None, None) => self.source.padded(rows.start, self.row_len + PAD, &mut scratch.edge[..read]),
                (None, Some(_)) => {
                    self.fill(&mut ring, &rows, &mut scratch.edge, read);
                    let at = ring.at(rows.start);
                    &ring.bytes[at..at + slot]
                }
                (Some(plan), _) => {
                    self.fill(&mut ring, &rows, &mut scratch.edge, read);
                    scratch.taps.clear();
                    scratch.taps.extend(rows.clone().map(|row| ring.at(row)));
                    // Padding taps weigh nothing but are read, so they point at a row that is there.
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
            let place = if sink.flip_v { height - 1 - index } else { index };
            let base = sink.offset + place * sink.row_stride;
            self.level.finish(&self.finish, row, &mut scratch.spare, sink.out, base);
        }
    }

    /// Rows of the source that row `index` of the window is made from.
    fn rows_of(&self, index: usize) -> Range<usize> {
        match self.down {
            None => index..index + 1,
            Some(plan) => {
                let start = plan.starts[index] as usize;
                start..start + plan.counts[index] as usize
            }
        }
    }

    /// Sees to it that `rows` are in the ring.
    fn fill(&self, ring: &mut Ring<'_>, rows: &Range<usize>, edge: &mut [u8], read: usize) {
        // Rows that no output reads are skipped, which a filter of few taps does when it shrinks a lot.
        ring.filled = ring.filled.max(rows.start / BATCH * BATCH);
        while ring.filled < rows.end {
            let first = ring.filled;
            let at = ring.at(first);
            let out = &mut ring.bytes[at..at + BATCH * ring.slot];
            let last = self.source.rows() - 1;
            match self.across {
                None => {
                    for (index, out) in (first..=last).zip(out.chunks_exact_mut(ring.slot)) {
                        out[..self.row_len].copy_from_slice(&self.source.from(index)[..self.row_len]);
                    }
                }
                Some(plan) if plan.single => {
                    for (index, out) in (first..=last).zip(out.chunks_exact_mut(ring.slot)) {
                        scalar::pick(plan, self.finish.channels, self.source.from(index), out);
                    }
                }
                Some(plan) => {
                    let mut edges = edge.chunks_exact_mut(read);
                    // The last batch repeats the last row rather than having fewer.
                    let batch: [&[u8]; BATCH] = std::array::from_fn(|i| {
                        let edge = edges.next().unwrap_or_default();
                        self.source.padded((first + i).min(last), read, edge)
                    });
                    self.level.horizontal(plan, self.finish.channels, batch, out, ring.slot);
                }
            }
            ring.filled += BATCH;
        }
    }
}

struct Ring<'a> {
    bytes: &'a mut [u8],
    slot: usize,
    slots: usize,
    /// Rows below this one have been through the ring; a multiple of [`BATCH`], as is `slots`.
    filled: usize,
}

impl Ring<'_> {
    /// Where row `row` is.
    fn at(&self, row: usize) -> usize {
        row % self.slots * self.slot
    }
}

fn grow(bytes: &mut Vec<u8>, len: usize) {
    if bytes.len() < len {
        bytes.resize(len, 0);
    }
}
