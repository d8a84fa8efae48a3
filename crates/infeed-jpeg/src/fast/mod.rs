//! A decoder for the common kind of JPEG file: sequential, Huffman coded, one scan, gray or YCbCr.
//!
//! It produces the same bytes as libjpeg-turbo, does several times less work for regions, and gives up at the
//! first sign of anything unusual, in the file's structure or in its data: [`Irregular`] means that libjpeg-turbo
//! decodes the request from the start. `README.md` beside this file explains the entropy decoder.

mod bits;
mod block;
mod color;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
mod color_avx2;
mod frame;
mod huffman;
mod idct;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
mod idct_avx2;
mod pairs;
mod planes;
mod reduced;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
mod reduced_sse2;
mod skips;
mod transform;
mod units;
mod upsample;
mod window;

#[cfg(test)]
#[cfg(not(infeed_portable))]
mod tests;

use crate::header::Header;
use crate::request::{Output, Region, Request, Scale};
use bits::Unstuffed;
use block::Block;
use frame::{Frame, Tables};
use planes::Planes;
use units::Units;
use upsample::{Direction, RowPair, Scratch};
use window::Window;

/// The file is not of the supported kind, or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Irregular;

/// The decoder with everything it keeps between files.
pub(crate) struct Fast {
    tables: Tables,
    scan: Unstuffed,
    planes: Planes,
    blocks: Vec<Block>,
    /// Full-size chroma of the row that is being converted.
    chroma: [Vec<u8>; 2],
    scratch: Scratch,
    /// Whether the AVX2 versions may be called. Set from the CPU, cleared by tests.
    simd: bool,
}

/// Whether this CPU has every instruction set that the AVX2 versions are compiled for.
fn simd_available() -> bool {
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("movbe")
    }
    #[cfg(any(infeed_portable, not(target_arch = "x86_64")))]
    {
        false
    }
}

/// Whether blocks can be decoded to fewer samples.
fn scaling_available(simd: bool) -> bool {
    if simd {
        #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
        return reduced_sse2::available();
    }
    // In builds with libjpeg-turbo, scaled images must equal its results; the portable code is only compared with it.
    cfg!(any(infeed_portable, test))
}

impl Fast {
    pub(crate) fn new() -> Self {
        Fast {
            tables: Tables::default(),
            scan: Unstuffed::default(),
            planes: Planes::default(),
            blocks: Vec::new(),
            chroma: Default::default(),
            scratch: Scratch::default(),
            simd: simd_available(),
        }
    }

    /// Decodes a request that [`Request::check`] has accepted.
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        header: &Header,
        request: &Request,
        out: &mut [u8],
        stride: usize,
    ) -> Result<(), Irregular> {
        if request.scale != Scale::Full && !scaling_available(self.simd) {
            return Err(Irregular);
        }
        let frame = frame::read(bytes, header, request.scale, &mut self.tables).ok_or(Irregular)?;
        let chroma = request.output == Output::Rgb && frame.components.len() == 3;
        let window = Window::new(&frame, &request.region, chroma);
        let (across, down) = frame.units();
        let whole = window.columns == (0..across) && window.rows == (0..down);
        if !whole || !chroma || request.scale == Scale::Eighth {
            for component in &frame.components {
                self.tables.ac[component.ac].prepare_skipping();
            }
        }
        let data = bytes.get(frame.data..).ok_or(Irregular)?;
        self.scan.fill(data, frame.interval != 0)?;
        self.blocks.resize_with(units::blocks_per_batch(&frame), Block::default);
        self.blocks.iter_mut().for_each(Block::clear);

        let first = window.rows.start * across + window.columns.start;
        let (mut units, mut at) = Units::new(&frame, &self.tables, &self.scan, chroma, first)?;
        self.planes.layout(&frame, &window, units.batch)?;
        let mut rows = RowWriter::new(&frame, request, chroma, self.simd, out, stride);
        for row in window.rows.clone() {
            let start = row * across + window.columns.start;
            let count = window.columns.len();
            if self.simd {
                #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
                // SAFETY: `simd` is only set when the CPU has the instructions.
                unsafe {
                    units.skip_avx2(start - at)?;
                    units.decode_avx2(count, row, &mut self.blocks, &mut self.planes)?;
                }
            } else {
                units.skip(start - at)?;
                units.decode(count, row, &mut self.blocks, &mut self.planes)?;
            }
            at = start + count;
            rows.write(row, &self.planes, &mut self.chroma, &mut self.scratch);
        }
        if at == across * down && !units.ends_properly() {
            return Err(Irregular);
        }
        Ok(())
    }
}

/// Turns finished rows of samples into rows of pixels.
struct RowWriter<'a> {
    frame: &'a Frame,
    region: Region,
    output: Output,
    chroma: bool,
    direction: Option<Direction>,
    simd: bool,
    out: &'a mut [u8],
    stride: usize,
    /// The next row of the image to write.
    next: usize,
}

impl<'a> RowWriter<'a> {
    fn new(
        frame: &'a Frame,
        request: &Request,
        chroma: bool,
        simd: bool,
        out: &'a mut [u8],
        stride: usize,
    ) -> Self {
        let direction = match frame.halved() {
            (true, true) => Some(Direction::Both),
            (true, false) => Some(Direction::Across),
            (false, true) => Some(Direction::Down),
            (false, false) => None,
        };
        let region = request.region;
        let next = region.y as usize;
        RowWriter { frame, region, output: request.output, chroma, direction, simd, out, stride, next }
    }

    /// Writes all rows of the region that can be written once unit row `row` is decoded.
    fn write(&mut self, row: usize, planes: &Planes, chroma: &mut [Vec<u8>; 2], scratch: &mut Scratch) {
        let end = (self.region.y + self.region.height) as usize;
        let height = self.frame.unit().1;
        let mut ready = (row + 1) * height;
        // The last row needs chroma from the units below, unless there are none.
        if self.chroma && self.frame.halved().1 && ready < self.frame.height {
            ready -= 1;
        }
        let bytes = self.region.width as usize * self.output.channels();
        while self.next < end.min(ready) {
            let y = self.next;
            let line = (y - self.region.y as usize) * self.stride;
            let luma = planes.part(0, y, self.region.x as usize, self.region.width as usize);
            let out = &mut self.out[line..line + bytes];
            match self.output {
                Output::Gray => out.copy_from_slice(luma),
                Output::Rgb if !self.chroma => color::gray_row(luma, out),
                Output::Rgb => {
                    let from = self.region.x as usize;
                    let range = match self.direction {
                        None => None,
                        Some(direction) => {
                            let start = upsample_both(direction, y, planes, chroma, scratch, self.simd);
                            let first = from - start;
                            Some(first..first + luma.len())
                        }
                    };
                    let [cb, cr] = match range {
                        None => [1, 2].map(|component| planes.part(component, y, from, luma.len())),
                        Some(range) => [&chroma[0][range.clone()], &chroma[1][range]],
                    };
                    convert(luma, cb, cr, out, self.simd);
                }
            }
            self.next += 1;
        }
    }
}

/// Upsamples both chroma rows for image row `y`; returns the image column that they start at.
fn upsample_both(
    direction: Direction,
    y: usize,
    planes: &Planes,
    chroma: &mut [Vec<u8>; 2],
    scratch: &mut Scratch,
    simd: bool,
) -> usize {
    let below = y % 2 == 1;
    let (near, far) = match direction {
        Direction::Across => (y as isize, y as isize),
        _ => ((y / 2) as isize, (y / 2) as isize + if below { 1 } else { -1 }),
    };
    for (component, out) in [1, 2].into_iter().zip(chroma) {
        let rows = RowPair { near: planes.row(component, near), far: planes.row(component, far), below };
        let width = if direction == Direction::Down { rows.near.len() } else { rows.near.len() * 2 };
        if out.len() < width {
            out.resize(width, 0);
        }
        let out = &mut out[..width];
        if simd {
            #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
            // SAFETY: `simd` is only set when the CPU has the instructions.
            unsafe {
                upsample::row_avx2(direction, rows, out, scratch);
            }
        } else {
            upsample::row(direction, rows, out, scratch);
        }
    }
    planes.first_column()
}

fn convert(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8], simd: bool) {
    if simd {
        #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
        // SAFETY: `simd` is only set when the CPU has the instructions.
        unsafe {
            color_avx2::row(y, cb, cr, out);
        }
    } else {
        color::row(y, cb, cr, out);
    }
}
