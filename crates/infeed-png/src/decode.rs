//! The decoder: its buffers, and the sequence of steps.

use crate::Error;
use crate::chunk::{Chunk, kind_at};
use crate::convert::{self, Plan, bits_per_pixel, samples_per_pixel};
use crate::header::{Check, Header, Output, Preamble};
use crate::inflate::{Fault, Inflater};
use crate::interlace::passes;
use crate::rows::RowBuffers;

/// Room past the expected pixels. libdeflate leaves its fast loop when less than about 300 bytes of output
/// remain, which would be a tenth of a 32x32 image. Bytes that land here mean a corrupt file.
const SLACK: usize = 512;

/// No deflate stream expands further than this (258 bytes from two bits), so a tiny file that claims to be
/// huge is refused before memory is allocated for it.
pub(crate) const MAX_EXPANSION: usize = 1032;

/// Decodes images one after another, reusing its memory. Keep one per thread.
///
/// It keeps memory for the largest inflated image it has seen; drop it to free that.
pub struct Decoder {
    inflater: Inflater,
    /// The contents of several `IDAT` chunks, joined.
    joined: Vec<u8>,
    /// The inflated stream: rows with a filter type in front. Only ever grows, so nothing is cleared twice.
    inflated: Vec<u8>,
    rows: RowBuffers,
    convert: convert::Scratch,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("held_bytes", &self.inflated.len()).finish_non_exhaustive()
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder that holds no memory yet but the inflater's tables.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inflater: Inflater::new(),
            joined: Vec::new(),
            inflated: Vec::new(),
            rows: RowBuffers::default(),
            convert: convert::Scratch::default(),
        }
    }

    /// Decodes `bytes`, whose `header` was read before, into `out`: row `y` begins at `y * stride`.
    ///
    /// Bytes of `out` between rows are not touched. After an error, `out` holds unspecified pixels.
    ///
    /// # Errors
    ///
    /// [`Error::BadRequest`] if `header` is not that of `bytes` or `out` is too small for `stride`, and
    /// everything that can be wrong with a file.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        header: &Header,
        output: Output,
        out: &mut [u8],
        stride: usize,
    ) -> Result<(), Error> {
        let preamble = Preamble::read(bytes, Check::All)?;
        if preamble.header != *header {
            return Err(Error::BadRequest("the header was read from other bytes".into()));
        }
        if output == Output::Index && (samples_per_pixel(header.color) != 1 || header.bit_depth == 16) {
            return Err(Error::BadRequest("only palettes and gray of at most 8 bits have indices".into()));
        }
        let plan = Plan::new(&preamble, output, &mut self.convert);
        check_request(header, plan.pixel, out.len(), stride)?;
        let size = inflated_size(header)?;
        self.inflate(bytes, preamble.pixels_at, header, size)?;

        let stream = &self.inflated[..size];
        if header.interlaced {
            self.rows.interlaced(stream, header, &plan, &mut self.convert, out, stride)
        } else if plan.is_identity() {
            self.rows.in_place(stream, header, out, stride)
        } else {
            let len = header.width as usize * plan.pixel;
            self.rows.each(stream, header.width as usize, bits_per_pixel(header), |y, row| {
                plan.convert(row, &mut self.convert, &mut out[y * stride..][..len]);
            })
        }
    }

    /// Fills `self.inflated[..size]` from the `IDAT` chunks at `at`.
    fn inflate(&mut self, bytes: &[u8], at: usize, header: &Header, size: usize) -> Result<(), Error> {
        let (first, mut at) = Chunk::read(bytes, at)?;
        first.verify()?;
        let mut stream = first.data;
        if kind_at(bytes, at) == Some(*b"IDAT") {
            self.joined.clear();
            let too_large = |_| Error::TooLarge { width: header.width, height: header.height };
            // All of them lie in the file, so together they are not longer.
            self.joined.try_reserve(bytes.len()).map_err(too_large)?;
            self.joined.extend_from_slice(stream);
            while kind_at(bytes, at) == Some(*b"IDAT") {
                let (chunk, next) = Chunk::read(bytes, at)?;
                chunk.verify()?;
                self.joined.extend_from_slice(chunk.data);
                at = next;
            }
            stream = &self.joined;
        }
        // Whether another chunk ends the pixel data, or the file is truncated.
        let short = if kind_at(bytes, at).is_some() {
            Error::corrupt("pixel data ends early or does not inflate")
        } else {
            Error::Truncated
        };
        if size / MAX_EXPANSION > stream.len() {
            return Err(short);
        }
        let room = size + SLACK;
        if self.inflated.len() < room {
            let more = room - self.inflated.len();
            let too_large = Error::TooLarge { width: header.width, height: header.height };
            self.inflated.try_reserve_exact(more).map_err(|_| too_large)?;
            self.inflated.resize(room, 0);
        }
        match self.inflater.zlib(stream, &mut self.inflated[..room]) {
            Ok(n) if n == size => Ok(()),
            Ok(n) if n < size => Err(Error::corrupt(format!("{n} bytes of pixels instead of {size}"))),
            Ok(_) | Err(Fault::NoRoom) => {
                Err(Error::corrupt(format!("more than the {size} bytes of pixels the header implies")))
            }
            Err(Fault::BadData) => Err(short),
        }
    }
}

/// The caller's buffer must hold the last row in full; the stride must hold any row.
fn check_request(header: &Header, pixel: usize, len: usize, stride: usize) -> Result<(), Error> {
    let row = u64::from(header.width) * pixel as u64;
    if (stride as u64) < row {
        return Err(Error::BadRequest(format!("stride of {stride} bytes for rows of {row}")));
    }
    let needed = u128::from(header.height - 1) * stride as u128 + u128::from(row);
    if (len as u128) < needed {
        return Err(Error::BadRequest(format!("buffer of {len} bytes where {needed} are needed")));
    }
    Ok(())
}

/// Exact size of the inflated stream: every row of every pass with its filter type.
pub(crate) fn inflated_size(header: &Header) -> Result<usize, Error> {
    let bits = bits_per_pixel(header) as u128;
    let of = |width: usize, height: usize| ((width as u128 * bits).div_ceil(8) + 1) * height as u128;
    let size: u128 = if header.interlaced {
        passes(header).map(|pass| of(pass.width, pass.height)).sum()
    } else {
        of(header.width as usize, header.height as usize)
    };
    // Leaves room for the slack, and for the multiplications by strides that follow.
    usize::try_from(size)
        .ok()
        .filter(|size| *size <= isize::MAX as usize / 8)
        .ok_or(Error::TooLarge { width: header.width, height: header.height })
}
