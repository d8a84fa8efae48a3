//! A decode request: a scale, a region of the scaled image, and a pixel layout.

use crate::error::Error;
use crate::header::Header;

/// How much smaller the image is decoded, by using fewer DCT coefficients per block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scale {
    /// The size stated in the file.
    #[default]
    Full,
    /// Half the width and height.
    Half,
    /// A quarter of the width and height.
    Quarter,
    /// An eighth of the width and height: one pixel per block.
    Eighth,
}

impl Scale {
    /// The number that lengths are divided by.
    pub fn denominator(self) -> u32 {
        match self {
            Scale::Full => 1,
            Scale::Half => 2,
            Scale::Quarter => 4,
            Scale::Eighth => 8,
        }
    }

    /// A length of the full image at this scale, rounded up as libjpeg rounds it.
    pub fn apply(self, len: u32) -> u32 {
        len.div_ceil(self.denominator())
    }
}

/// The layout of the decoded pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Output {
    /// Red, green, blue: three bytes per pixel. Gray files are replicated.
    #[default]
    Rgb,
    /// One byte per pixel. For a YCbCr file this is its luma plane, without conversion.
    Gray,
}

impl Output {
    /// Bytes per pixel.
    pub fn channels(self) -> usize {
        match self {
            Output::Rgb => 3,
            Output::Gray => 1,
        }
    }
}

/// A rectangle in pixels of the scaled image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    /// First column.
    pub x: u32,
    /// First row.
    pub y: u32,
    /// Number of columns, at least one.
    pub width: u32,
    /// Number of rows, at least one.
    pub height: u32,
}

impl Region {
    /// The whole image at a scale.
    pub fn whole(header: &Header, scale: Scale) -> Self {
        Region { x: 0, y: 0, width: scale.apply(header.width), height: scale.apply(header.height) }
    }

    fn fits(&self, width: u32, height: u32) -> bool {
        let end = |start: u32, len: u32| u64::from(start) + u64::from(len);
        self.width > 0
            && self.height > 0
            && end(self.x, self.width) <= u64::from(width)
            && end(self.y, self.height) <= u64::from(height)
    }
}

/// One decode request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// DCT scaling.
    pub scale: Scale,
    /// The part of the scaled image that is wanted.
    pub region: Region,
    /// The pixel layout.
    pub output: Output,
}

impl Request {
    /// Checks the region against the image and the buffer against the region, so that decoders can rely on both.
    pub(crate) fn check(&self, header: &Header, out: &[u8], stride: usize) -> Result<(), Error> {
        let (width, height) = (self.scale.apply(header.width), self.scale.apply(header.height));
        let Region { x, y, width: w, height: h } = self.region;
        if !self.region.fits(width, height) {
            return Err(Error::BadRequest(format!(
                "the region {w}x{h}+{x}+{y} is empty or leaves the {width}x{height} image"
            )));
        }
        let row = w as usize * self.output.channels();
        if stride < row {
            return Err(Error::BadRequest(format!(
                "a stride of {stride} bytes cannot hold a row of {row} bytes"
            )));
        }
        // libjpeg-turbo takes the pitch as a C int.
        if i32::try_from(stride).is_err() {
            return Err(Error::BadRequest(format!("a stride of {stride} bytes is too large")));
        }
        let needed = (h as usize - 1).checked_mul(stride).and_then(|n| n.checked_add(row));
        if needed.is_none_or(|needed| out.len() < needed) {
            return Err(Error::BadRequest(format!(
                "a buffer of {} bytes cannot hold {h} rows of {row} bytes, {stride} apart",
                out.len()
            )));
        }
        Ok(())
    }
}
