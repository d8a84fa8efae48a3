//! An image that is decoded as late as possible.
//!
//! A decoder makes an [`Image`] from the header alone. Transforms only change its [`View`](crate::view) and its
//! [`Finish`]. [`Image::render`] then decodes the pixels that are used and writes the finished values into the batch.

mod edit;
mod elsewhere;
mod keep;
mod mask;

pub use elsewhere::{Deferred, Drawing};
pub use keep::FindCodec;

use crate::{
    Channels, Cover, Dtype, Error, ImageCodec, ImageInfo, Rect, Result, Scratch, Want, shared::Shared,
    view::Track,
};
use bytes::Bytes;
use infeed_resample::{Axis, Filter, Pixels, Sink, needed, working_memory};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::Range, sync::Arc};

/// After a shrinking decode, the resize must still shrink by at least this factor.
const MARGIN: u32 = 2;

/// The order of an image's axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PixelLayout {
    /// Height, width, channels: as decoders return it.
    Hwc,
    /// Channels, height, width: as PyTorch expects it.
    Chw,
}

/// How the values of finished pixels are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finish {
    /// Element type: u8, f16, bf16 or f32.
    pub dtype: Dtype,
    /// Order of axes.
    pub layout: PixelLayout,
    /// Multiplies channel c.
    pub scale: [f32; 4],
    /// Is added to channel c.
    pub bias: [f32; 4],
}

impl Finish {
    /// Pixels unchanged.
    pub const PLAIN: Finish =
        Finish { dtype: Dtype::U8, layout: PixelLayout::Hwc, scale: [1.0; 4], bias: [0.0; 4] };
}

/// What the pixels of a mask are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskPixels {
    /// Whether four channels are the bytes of one i32, in the order of this machine; otherwise there is one channel.
    pub wide: bool,
    /// The class outside of the image.
    pub fill: i32,
}

/// Where the pixels come from.
#[derive(Clone)]
enum Origin {
    /// Still encoded.
    Encoded { bytes: Bytes, codec: &'static dyn ImageCodec, info: ImageInfo, want: Channels, exact: bool },
    /// Still encoded and shared by several images: the first that is rendered decodes it whole.
    Shared(Arc<Shared>),
    /// Interleaved u8 rows without padding.
    Raw { data: Arc<Vec<u8>> },
    /// The same, in memory that cannot be changed.
    Lent { data: Bytes },
}

/// Pixels, decoded or not yet, and the operations still to be applied.
#[derive(Clone)]
pub struct Image {
    origin: Origin,
    size: (u32, u32),
    channels: u8,
    x: Track,
    y: Track,
    filter: Filter,
    antialias: bool,
    fill: [u8; 4],
    covers: Vec<Cover>,
    /// For masks: pixels are classes, which are moved and never mixed.
    mask: Option<MaskPixels>,
    was: keep::Was,
    /// How values are finished.
    pub finish: Finish,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("size", &self.size)
            .field("x", &self.x)
            .field("y", &self.y)
            .finish_non_exhaustive()
    }
}

impl Image {
    /// Creates an image that is not decoded yet. `exact` forbids a shrinking decode.
    pub fn encoded(
        bytes: Bytes,
        codec: &'static dyn ImageCodec,
        info: ImageInfo,
        want: Channels,
        exact: bool,
    ) -> Self {
        let channels = match want {
            Channels::Rgb => 3,
            Channels::Gray => 1,
            Channels::Stored => info.channels,
        };
        Self::new(Origin::Encoded { bytes, codec, info, want, exact }, (info.width, info.height), channels)
    }

    /// Creates an image from decoded pixels: interleaved u8 rows without padding.
    pub fn raw(width: u32, height: u32, channels: u8, data: Vec<u8>) -> Result<Self> {
        if data.len() as u64 != u64::from(width) * u64::from(height) * u64::from(channels) || data.is_empty()
        {
            return Err(Error::sample(format!(
                "{} bytes cannot be {width}x{height}x{channels} pixels",
                data.len()
            )));
        }
        Ok(Self::new(Origin::Raw { data: Arc::new(data) }, (width, height), channels))
    }

    fn new(origin: Origin, size: (u32, u32), channels: u8) -> Self {
        Image {
            origin,
            size,
            channels,
            x: Track::new(size.0),
            y: Track::new(size.1),
            filter: Filter::Bilinear,
            antialias: true,
            fill: [0; 4],
            covers: Vec::new(),
            mask: None,
            was: keep::Was::default(),
            finish: Finish::PLAIN,
        }
    }

    /// Returns the width of the current view.
    pub fn width(&self) -> u32 {
        self.x.out
    }

    /// Returns the height of the current view.
    pub fn height(&self) -> u32 {
        self.y.out
    }

    /// Returns the channels per pixel.
    pub fn channels(&self) -> u8 {
        self.channels
    }

    /// Returns the bytes that [`Image::render`] writes.
    pub fn bytes(&self) -> usize {
        // Views can be made larger than any memory, so nothing may wrap round.
        let channels = if self.mask.is_some() { 1 } else { usize::from(self.channels) };
        (self.x.out as usize)
            .saturating_mul(self.y.out as usize)
            .saturating_mul(channels * self.finish.dtype.size())
    }

    /// Returns the shape of the current view, in the layout of the finish. Masks have no channels.
    pub fn shape(&self) -> Vec<usize> {
        let (h, w, c) = (self.y.out as usize, self.x.out as usize, usize::from(self.channels));
        match self.finish.layout {
            _ if self.mask.is_some() => vec![h, w],
            PixelLayout::Hwc => vec![h, w, c],
            PixelLayout::Chw => vec![c, h, w],
        }
    }

    /// Crops the current view to a rectangle. It may reach outside, where `fill` is visible.
    pub fn crop(
        &mut self,
        left: i64,
        top: i64,
        width: u32,
        height: u32,
        fill: [u8; 4],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let fill = self.mask.map_or(fill, MaskPixels::bytes);
        let padded = self.x.padded() || self.y.padded();
        let outside = left < 0
            || top < 0
            || left + i64::from(width) > i64::from(self.x.out)
            || top + i64::from(height) > i64::from(self.y.out);
        // Padding is only stored as "outside", so what was cropped must be removed for good before padding is added.
        let cut = self.is_cut() || self.was.cut;
        if outside && (cut || (padded && self.fill != fill)) {
            self.settle(scratch)?;
        }
        if outside {
            self.fill = fill;
        }
        self.x.crop(left, width);
        self.y.crop(top, height);
        self.covers.iter_mut().for_each(|cover| cover.shift(-left, -top));
        Ok(())
    }

    /// Resizes the current view.
    pub fn resize(
        &mut self,
        width: u32,
        height: u32,
        filter: Filter,
        antialias: bool,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if width == self.x.out && height == self.y.out {
            return Ok(());
        }
        self.uncovered()?;
        let (filter, antialias) = if self.is_mask() { (Filter::Nearest, false) } else { (filter, antialias) };
        // Nearest is the only asymmetric filter: it must not be moved after a flip.
        let asymmetric = filter == Filter::Nearest && (self.x.flip || self.y.flip);
        if !self.can_resize() || self.was.resized || asymmetric {
            self.settle(scratch)?;
        }
        self.x.resize(width);
        self.y.resize(height);
        (self.filter, self.antialias) = (filter, antialias);
        Ok(())
    }

    /// Mirrors left and right.
    pub fn flip_horizontal(&mut self) {
        self.x.mirror();
        self.covers.iter_mut().for_each(|cover| cover.mirror_x(self.x.out));
    }

    /// Mirrors top and bottom.
    pub fn flip_vertical(&mut self) {
        self.y.mirror();
        self.covers.iter_mut().for_each(|cover| cover.mirror_y(self.y.out));
    }

    /// Makes all clones of this image share one decode: whole, at full size, done by the first that is rendered. Not
    /// useful for an image that is used once, which decodes only the visible part.
    pub fn share(&mut self) {
        if let Origin::Encoded { bytes, codec, info, want, .. } = &self.origin {
            self.origin = Origin::Shared(Arc::new(Shared::new(bytes.clone(), *codec, *info, *want)));
        }
    }

    /// Decodes what is used and writes [`Image::bytes`] bytes of finished values.
    pub fn render(&self, scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
        if out.len() != self.bytes() {
            return Err(Error::Internal {
                what: format!("image of {} bytes rendered into {}", self.bytes(), out.len()),
            });
        }
        if let Some(mask) = self.mask.filter(|mask| mask.wide || self.finish.dtype != Dtype::U8) {
            return self.render_mask(mask, scratch, out);
        }
        self.render_view(scratch, out)?;
        for cover in &self.covers {
            cover.paint((self.x.out, self.y.out), self.channels, &self.finish, out);
        }
        Ok(())
    }

    /// Renders the image below the covers.
    fn render_view(&self, scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
        if self.untouched()
            && let Origin::Encoded { bytes, codec, info, want, .. } = &self.origin
            && scratch.decoding(|s| codec.read_whole(bytes, info, *want, s, out))?
        {
            return Ok(());
        }
        if self.x.padded() || self.y.padded() {
            self.paint(out);
        }
        let (wx, wy) = (self.x.inside(), self.y.inside());
        if wx.is_empty() || wy.is_empty() {
            return Ok(());
        }
        match &self.origin {
            Origin::Raw { data } => self.resample_whole(scratch, data, (wx, wy), out),
            Origin::Lent { data } => self.resample_whole(scratch, data, (wx, wy), out),
            Origin::Shared(shared) => {
                let data = shared.pixels(self.channels, scratch)?;
                self.resample_whole(scratch, &data, (wx, wy), out)
            }
            Origin::Encoded { bytes, codec, info, want, exact } => {
                let shrink = if *exact { 1 } else { self.shrink(info.shrinks) };
                let job = self.job(shrink, wx, wy);
                let want = Want { region: grown(job.region, shrink, self.size), shrink, channels: *want };
                let mut pixels = std::mem::take(&mut scratch.pixels);
                let done = scratch
                    .decoding(|s| codec.read(bytes, info, &want, s, &mut pixels))
                    .and_then(|patch| self.resample(scratch, &pixels, patch.area, &job, out));
                scratch.pixels = pixels;
                done
            }
        }
    }

    /// Whether the image is output as it was stored.
    fn untouched(&self) -> bool {
        self.finish == Finish::PLAIN && self.x == Track::new(self.size.0) && self.y == Track::new(self.size.1)
    }

    /// Returns how far the decoder may shrink: half as much as the resize does on both axes, so that the resize still
    /// averages over at least [`MARGIN`] decoded pixels. CORRECTNESS.md has the measured error.
    fn shrink(&self, most: u32) -> u32 {
        if self.filter == Filter::Nearest {
            return 1;
        }
        let fits = |t: &Track, by: u32| u64::from(t.len) >= u64::from(t.full) * u64::from(by * MARGIN);
        [8, 4, 2].into_iter().find(|by| *by <= most && fits(&self.x, *by) && fits(&self.y, *by)).unwrap_or(1)
    }

    /// Returns what to render from an image that was shrunk while decoding.
    fn job(&self, shrink: u32, wx: Range<u32>, wy: Range<u32>) -> Job {
        let (x, x0) = axis(&self.x, shrink, self.size.0, wx);
        let (y, y0) = axis(&self.y, shrink, self.size.1, wy);
        let (nx, ny) = (needed(&x, self.filter, self.antialias), needed(&y, self.filter, self.antialias));
        let region =
            Rect { x: x0 + nx.start, y: y0 + ny.start, width: nx.end - nx.start, height: ny.end - ny.start };
        Job { x, y, region, from: (nx.start, ny.start) }
    }

    /// Fills the whole output with the finished fill colour.
    fn paint(&self, out: &mut [u8]) {
        let c = usize::from(self.channels);
        let mut value = [[0u8; 4]; 4];
        let size = self.finish.dtype.size();
        for (i, v) in value.iter_mut().enumerate().take(c) {
            let x = f32::from(self.fill[i]) * self.finish.scale[i] + self.finish.bias[i];
            match self.finish.dtype {
                Dtype::U8 => v[0] = x as u8,
                Dtype::F16 => v[..2].copy_from_slice(&half::f16::from_f32(x).to_ne_bytes()),
                Dtype::Bf16 => v[..2].copy_from_slice(&half::bf16::from_f32(x).to_ne_bytes()),
                _ => v.copy_from_slice(&x.to_ne_bytes()),
            }
        }
        match self.finish.layout {
            PixelLayout::Hwc => {
                for (i, element) in out.chunks_exact_mut(size).enumerate() {
                    element.copy_from_slice(&value[i % c][..size]);
                }
            }
            PixelLayout::Chw => {
                let plane = out.len() / c;
                for (i, plane) in out.chunks_exact_mut(plane).enumerate() {
                    plane.chunks_exact_mut(size).for_each(|e| e.copy_from_slice(&value[i][..size]));
                }
            }
        }
    }

    /// Writes the inside of the window from the pixels of the whole image.
    fn resample_whole(
        &self,
        scratch: &mut Scratch,
        data: &[u8],
        (wx, wy): (Range<u32>, Range<u32>),
        out: &mut [u8],
    ) -> Result<()> {
        let area = Rect { x: 0, y: 0, width: self.size.0, height: self.size.1 };
        self.resample(scratch, data, area, &self.job(1, wx, wy), out)
    }

    /// Writes the inside of the window from pixels that cover at least `job.region`.
    fn resample(
        &self,
        scratch: &mut Scratch,
        data: &[u8],
        area: Rect,
        job: &Job,
        out: &mut [u8],
    ) -> Result<()> {
        let channels = usize::from(self.channels);
        scratch.claim(working_memory(&job.x, &job.y, channels, self.filter, self.antialias))?;
        let stride = area.width as usize * channels;
        let skip = (job.region.y - area.y) as usize * stride + (job.region.x - area.x) as usize * channels;
        let pixels = Pixels {
            data: data.get(skip..).unwrap_or(&[]),
            stride,
            width: job.region.width,
            height: job.region.height,
            channels,
            origin: job.from,
        };
        let (w, h) = (self.x.out as usize, self.y.out as usize);
        let (lead_x, lead_y) = (self.x.lead() as usize, self.y.lead() as usize);
        let (layout, row_stride, offset) = match self.finish.layout {
            PixelLayout::Hwc => {
                (infeed_resample::Layout::Hwc, w * channels, (lead_y * w + lead_x) * channels)
            }
            PixelLayout::Chw => (infeed_resample::Layout::Chw, w, lead_y * w + lead_x),
        };
        let dtype = match self.finish.dtype {
            Dtype::U8 => infeed_resample::Dtype::U8,
            Dtype::F16 => infeed_resample::Dtype::F16,
            Dtype::Bf16 => infeed_resample::Dtype::Bf16,
            Dtype::F32 => infeed_resample::Dtype::F32,
            other => return Err(Error::Internal { what: format!("images cannot be finished as {other}") }),
        };
        let mut sink = Sink {
            out,
            dtype,
            layout,
            row_stride,
            plane_stride: w * h,
            offset,
            flip_h: self.x.flip,
            flip_v: self.y.flip,
            scale: self.finish.scale,
            bias: self.finish.bias,
        };
        scratch
            .resampler
            .render(&pixels, &job.x, &job.y, self.filter, self.antialias, &mut sink)
            .map_err(|e| Error::sample(e.to_string()))
    }
}

/// Returns the axis of a resize from an image that was shrunk by `shrink`, and the start of its crop there. A crop need
/// not start at a whole shrunken pixel: the span holds the fraction.
fn axis(track: &Track, shrink: u32, size: u32, window: Range<u32>) -> (Axis, u32) {
    if shrink == 1 {
        return (Axis { source: track.len, full: track.full, window, span: None }, track.start);
    }
    let first = track.start / shrink;
    let last = (track.start + track.len).min(size).div_ceil(shrink);
    let inside = |at: u32| f64::from(at) / f64::from(shrink) - f64::from(first);
    let span = Some(inside(track.start)..inside(track.start + track.len));
    (Axis { source: last - first, full: track.full, window, span }, first)
}

/// Converts a region of shrunken pixels to full-size pixels.
fn grown(region: Rect, shrink: u32, size: (u32, u32)) -> Rect {
    let (x, y) = (region.x * shrink, region.y * shrink);
    let (width, height) = ((region.width * shrink).min(size.0 - x), (region.height * shrink).min(size.1 - y));
    Rect { x, y, width, height }
}

/// One rendering: the axes, the source pixels they need and where those start on the axes.
struct Job {
    x: Axis,
    y: Axis,
    region: Rect,
    from: (u32, u32),
}
