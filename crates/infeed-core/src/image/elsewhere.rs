//! Images whose pixels are made elsewhere: by decoders and kernels of a device.

use super::{Finish, Image, Origin, PixelLayout};
use crate::{Channels, Dtype, Error, ImageInfo, Result, Scratch, memory, view::Track};
use bytes::Bytes;
use infeed_resample::{Axis, Filter};

/// The largest size that a view may have and still be drawn elsewhere.
const MOST: u32 = 1 << 16;

/// The most pixels of an image: places in them are numbers of 32 bits.
const PIXELS: u64 = 1 << 30;

/// How far an axis may shrink: what a kernel keeps for one output pixel is bounded by it.
const SHRINK: u32 = 64;

/// All that is needed to make the finished values of an image from its file.
#[derive(Debug, Clone)]
pub struct Drawing<'a> {
    /// The file, up to its end.
    pub bytes: &'a [u8],
    /// Width and height of the pixels in it.
    pub size: (u32, u32),
    /// Whether it is decoded to gray pixels, otherwise to red, green, blue.
    pub gray: bool,
    /// Channels of the result. Gray pixels become as many equal channels.
    pub channels: u8,
    /// The resize of each axis, in pixels of its crop.
    pub axes: (Axis, Axis),
    /// The first pixel of the crop.
    pub from: (u32, u32),
    /// Where the resized pixels begin in the result; around them is the fill colour.
    pub lead: (u32, u32),
    /// Whether they are mirrored.
    pub flip: (bool, bool),
    /// Width and height of the result.
    pub out: (u32, u32),
    /// The filter of the resize.
    pub filter: Filter,
    /// Whether it widens where pixels are lost.
    pub antialias: bool,
    /// The colour outside.
    pub fill: [u8; 4],
    /// How values are finished.
    pub finish: Finish,
}

/// An image that decoders of devices take, with nothing done to it but what a [`Drawing`] says.
#[derive(Debug, Clone)]
pub struct Deferred {
    image: Box<Image>,
    /// Bytes of the file up to its end.
    len: usize,
}

impl Deferred {
    /// The image, which can be rendered here as well.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Its file, up to its end.
    pub fn file(&self) -> Bytes {
        match &self.image.origin {
            Origin::Encoded { bytes, .. } => bytes.slice(..self.len.min(bytes.len())),
            _ => Bytes::new(),
        }
    }

    /// Decodes it here, whole: gray, or red, green, blue, as the drawing says.
    pub fn pixels(&self, scratch: &mut Scratch) -> Result<Vec<u8>> {
        let Origin::Encoded { bytes, codec, info, want, .. } = &self.image.origin else {
            return Err(Error::Internal { what: "an image was deferred that has pixels".to_owned() });
        };
        let want = if info.channels == 1 { Channels::Gray } else { *want };
        let image = Image::encoded(bytes.clone(), *codec, *info, want, true);
        scratch.claim(image.bytes() as u64)?;
        let mut pixels = memory::zeroed(image.bytes())?;
        image.render(scratch, &mut pixels)?;
        Ok(pixels)
    }

    /// The same view of such pixels, which a device may have decoded.
    pub fn over(&self, pixels: Vec<u8>) -> Result<Image> {
        let image = &*self.image;
        let one = image.size.0 as usize * image.size.1 as usize;
        let pixels = if pixels.len() == one && image.channels > 1 {
            let channels = usize::from(image.channels);
            pixels.iter().flat_map(|value| std::iter::repeat_n(*value, channels)).collect()
        } else {
            pixels
        };
        let plain = Image::raw(image.size.0, image.size.1, image.channels, pixels)?;
        Ok(Image { origin: plain.origin, ..image.clone() })
    }

    /// How it is made. `None` for images that cannot be deferred, which there are none of.
    pub fn drawing(&self) -> Option<Drawing<'_>> {
        let image = &*self.image;
        let Origin::Encoded { bytes, info, want, .. } = &image.origin else { return None };
        let axis =
            |track: &Track| Axis { source: track.len, full: track.full, window: track.inside(), span: None };
        Some(Drawing {
            bytes: bytes.get(..self.len)?,
            size: image.size,
            gray: info.channels == 1 || *want == Channels::Gray,
            channels: image.channels,
            axes: (axis(&image.x), axis(&image.y)),
            from: (image.x.start, image.y.start),
            lead: (image.x.lead(), image.y.lead()),
            flip: (image.x.flip, image.y.flip),
            out: (image.x.out, image.y.out),
            filter: image.filter,
            antialias: image.antialias,
            fill: image.fill,
            finish: image.finish,
        })
    }
}

impl Image {
    /// Defers an image whose file is one that decoders of devices take, or gives it back. This depends on the file and the
    /// view alone.
    pub fn defer(self: Box<Self>) -> Result<Deferred, Box<Image>> {
        match self.whole_file() {
            Some(len) => Ok(Deferred { image: self, len }),
            None => Err(self),
        }
    }

    fn whole_file(&self) -> Option<usize> {
        let Origin::Encoded { bytes, codec, info, .. } = &self.origin else { return None };
        let numbers = matches!(self.finish.dtype, Dtype::U8 | Dtype::F16 | Dtype::Bf16 | Dtype::F32);
        let plain = self.covers.is_empty() && self.mask.is_none() && numbers;
        // Last, because it looks at the whole file.
        if plain && drawable(info, &self.x, &self.y) { codec.whole(bytes) } else { None }
    }
}

impl Drawing<'_> {
    /// Bytes of the result.
    pub fn result_bytes(&self) -> usize {
        self.out.0 as usize * self.out.1 as usize * usize::from(self.channels) * self.finish.dtype.size()
    }

    /// Bytes of the decoded pixels.
    pub fn pixel_bytes(&self) -> usize {
        self.size.0 as usize * self.size.1 as usize * if self.gray { 1 } else { 3 }
    }

    /// Whether channels come one after the other.
    pub fn planar(&self) -> bool {
        self.finish.layout == PixelLayout::Chw
    }
}

/// Whether the sizes are those that kernels are made for. Others are so rare that they are left to the CPU.
fn drawable(info: &ImageInfo, x: &Track, y: &Track) -> bool {
    let fits = |track: &Track| {
        let inside = track.inside();
        !inside.is_empty()
            && track.len <= MOST
            && track.full <= MOST
            && track.out <= MOST
            && track.len <= track.full.saturating_mul(SHRINK)
    };
    let all = u64::from(info.width) * u64::from(info.height);
    info.depth == 8 && matches!(info.channels, 1 | 3) && all <= PIXELS && fits(x) && fits(y)
}
