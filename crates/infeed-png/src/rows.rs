//! Splits the inflated stream into rows, and writes each row to its place.

use crate::convert::{Plan, Scratch, bits_per_pixel};
use crate::filter::{is_pair, unfilter, unfilter_pair};
use crate::interlace::{passes, scatter};
use crate::{Error, Header};

/// Row buffers, reused from image to image.
#[derive(Default)]
pub(crate) struct RowBuffers {
    above: Vec<u8>,
    upper: Vec<u8>,
    lower: Vec<u8>,
    /// One converted row of an interlace pass.
    pixels: Vec<u8>,
}

impl RowBuffers {
    /// For rows that need no conversion: each is unfiltered directly into its place.
    pub(crate) fn in_place(
        &mut self,
        stream: &[u8],
        header: &Header,
        out: &mut [u8],
        stride: usize,
    ) -> Result<(), Error> {
        let bpp = bits_per_pixel(header) / 8;
        let len = header.width as usize * bpp;
        let zeros = sized(&mut self.above, len);
        zeros.fill(0);
        let (mut rows, mut y) = (filtered(stream, len).peekable(), 0);
        while let Some((kind, row)) = rows.next() {
            let (done, rest) = out.split_at_mut(y * stride);
            let above = if y == 0 { &*zeros } else { &done[(y - 1) * stride..][..len] };
            if let Some((_, below)) = rows.next_if(|(next, _)| is_pair([kind, *next], bpp)) {
                let (upper, lower) = rest.split_at_mut(stride);
                unfilter_pair(bpp, [row, below], above, [&mut upper[..len], &mut lower[..len]]);
                y += 2;
            } else {
                unfilter(kind, bpp, row, above, &mut rest[..len])?;
                y += 1;
            }
        }
        Ok(())
    }

    /// Passes each unfiltered row to `put`. The buffers alternate, so the row is still in the L1 cache.
    pub(crate) fn each(
        &mut self,
        stream: &[u8],
        width: usize,
        bits: usize,
        mut put: impl FnMut(usize, &[u8]),
    ) -> Result<(), Error> {
        let len = (width * bits).div_ceil(8);
        let mut above = sized(&mut self.above, len);
        let mut upper = sized(&mut self.upper, len);
        let mut lower = sized(&mut self.lower, len);
        above.fill(0);
        let bpp = bits.div_ceil(8);
        let (mut rows, mut y) = (filtered(stream, len).peekable(), 0);
        while let Some((kind, row)) = rows.next() {
            if let Some((_, below)) = rows.next_if(|(next, _)| is_pair([kind, *next], bpp)) {
                unfilter_pair(bpp, [row, below], above, [upper, lower]);
                put(y, upper);
                put(y + 1, lower);
                std::mem::swap(&mut above, &mut lower);
                y += 2;
            } else {
                unfilter(kind, bpp, row, above, upper)?;
                put(y, upper);
                std::mem::swap(&mut above, &mut upper);
                y += 1;
            }
        }
        Ok(())
    }

    /// For interlaced images: the passes of Adam7 follow one another in the stream, each filtered as a separate image.
    pub(crate) fn interlaced(
        &mut self,
        stream: &[u8],
        header: &Header,
        plan: &Plan,
        scratch: &mut Scratch,
        out: &mut [u8],
        stride: usize,
    ) -> Result<(), Error> {
        let bits = bits_per_pixel(header);
        let len = header.width as usize * plan.pixel;
        // Taken out so that the closure below does not borrow all of `self`.
        let mut pixels = std::mem::take(&mut self.pixels);
        let mut rest = stream;
        let done = passes(header).try_for_each(|pass| {
            let (now, later) = rest.split_at(((pass.width * bits).div_ceil(8) + 1) * pass.height);
            rest = later;
            let line = sized(&mut pixels, pass.width * plan.pixel);
            self.each(now, pass.width, bits, |y, row| {
                plan.convert(row, scratch, line);
                let at = (pass.y0 + y * pass.dy) * stride;
                scatter(line, plan.pixel, &pass, &mut out[at..][..len]);
            })
        });
        self.pixels = pixels;
        done
    }
}

/// The rows of the stream, each with its filter type.
fn filtered(stream: &[u8], len: usize) -> impl Iterator<Item = (u8, &[u8])> {
    stream.chunks_exact(len + 1).filter_map(|row| row.split_first()).map(|(kind, row)| (*kind, row))
}

/// The first `len` bytes of a buffer that only grows; their content is left over from earlier use.
fn sized(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}
