//! Helpers shared by codecs: pixel buffers, regions, and conversions between pixel kinds.

use infeed_core::{Channels, Error, ImageInfo, Rect, Result, Want, memory};

/// Makes `into` exactly `len` bytes long. Its content is unspecified.
///
/// The caller has claimed the memory ([`infeed_core::Scratch::claim`]). Some extra capacity is allocated, since the next image
/// may be a little larger; not for large images, whose memory is freed after the sample.
pub(super) fn room(into: &mut Vec<u8>, len: usize) -> Result<&mut [u8]> {
    if into.capacity() < len {
        // The old content is not copied along.
        *into = Vec::new();
        let spare = if len as u64 > memory::SMALL { 0 } else { len / 4 };
        memory::reserve_exact(into, len + spare)?;
    }
    memory::resize(into, len)?;
    Ok(into)
}

/// Returns the bytes of `width` x `height` pixels of `pixel` bytes each, if that fits in memory at all.
pub(super) fn byte_count(width: u32, height: u32, pixel: usize) -> Result<usize> {
    (width as usize)
        .checked_mul(height as usize)
        .and_then(|n| n.checked_mul(pixel))
        .filter(|n| *n <= isize::MAX as usize / 2)
        .ok_or_else(|| Error::sample(format!("an image of {width}x{height} does not fit in memory")))
}

/// Returns the region of the whole image.
pub(super) fn whole(info: &ImageInfo) -> Rect {
    Rect { x: 0, y: 0, width: info.width, height: info.height }
}

/// Checks that the wanted region is inside the image, so that codecs may rely on it.
pub(super) fn check_region(info: &ImageInfo, want: &Want) -> Result<()> {
    let Rect { x, y, width, height } = want.region;
    let inside =
        |start: u32, len: u32, full: u32| len > 0 && u64::from(start) + u64::from(len) <= u64::from(full);
    if inside(x, width, info.width) && inside(y, height, info.height) {
        return Ok(());
    }
    Err(Error::Internal {
        what: format!("region {width}x{height}+{x}+{y} of an image of {}x{}", info.width, info.height),
    })
}

/// Returns the number of channels that are requested.
pub(super) fn channel_count(info: &ImageInfo, channels: Channels) -> u8 {
    match channels {
        Channels::Rgb => 3,
        Channels::Gray => 1,
        Channels::Stored => info.channels,
    }
}

/// Returns the number of channels of a file's pixels when requested as stored. Images have 1, 3 or 4 channels, so gray
/// with alpha becomes RGBA. 16-bit images are arrays and keep their channels.
pub(super) fn stored_channels(channels: u8, wide: bool) -> u8 {
    if channels == 2 && !wide { 4 } else { channels }
}

/// Luminance with Pillow's integer weights.
pub(super) fn luma(r: u8, g: u8, b: u8) -> u8 {
    ((u32::from(r) * 19595 + u32::from(g) * 38470 + u32::from(b) * 7471 + 0x8000) >> 16) as u8
}

/// Decoded pixels: the whole image, interleaved, without row padding.
pub(super) struct Decoded<'a> {
    /// The bytes.
    pub(super) data: &'a [u8],
    /// Pixels per row.
    pub(super) width: u32,
    /// 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA.
    pub(super) channels: u8,
    /// Whether a sample is a native-endian u16 and not a byte.
    pub(super) wide: bool,
}

impl Decoded<'_> {
    /// Returns the bytes per pixel that [`Decoded::write`] writes.
    pub(super) fn pixel(&self, channels: Channels) -> usize {
        match channels {
            Channels::Rgb => 3,
            Channels::Gray => 1,
            Channels::Stored => usize::from(stored_channels(self.channels, self.wide)) << u8::from(self.wide),
        }
    }

    /// Writes a region in the wanted channels. Alpha is dropped, not blended, and 16-bit samples keep their high
    /// byte: both as in Pillow's `convert`.
    pub(super) fn write(&self, region: Rect, channels: Channels, out: &mut [u8]) {
        let from = usize::from(self.channels) << u8::from(self.wide);
        let to = self.pixel(channels);
        let row = region.width as usize * to;
        let same = to == from && (!self.wide || channels == Channels::Stored);
        for (y, out) in out.chunks_exact_mut(row).take(region.height as usize).enumerate() {
            let start = ((region.y as usize + y) * self.width as usize + region.x as usize) * from;
            let row = &self.data[start..start + region.width as usize * from];
            match (channels, self.wide) {
                _ if same => out.copy_from_slice(row),
                // Only gray with alpha differs from its stored form.
                (Channels::Stored, _) => {
                    for (out, p) in out.chunks_exact_mut(4).zip(row.chunks_exact(from)) {
                        out.copy_from_slice(&[p[0], p[0], p[0], p[1]]);
                    }
                }
                (Channels::Rgb, false) => rgb(row, from, usize::from(self.channels), |s| s[0], 1, out),
                (Channels::Gray, false) => gray(row, from, usize::from(self.channels), |s| s[0], 1, out),
                (Channels::Rgb, true) => rgb(row, from, usize::from(self.channels), high, 2, out),
                (Channels::Gray, true) => gray(row, from, usize::from(self.channels), high, 2, out),
            }
        }
    }
}

fn high(sample: &[u8]) -> u8 {
    (u16::from_ne_bytes([sample[0], sample[1]]) >> 8) as u8
}

#[inline(always)]
fn rgb(row: &[u8], pixel: usize, channels: usize, read: impl Fn(&[u8]) -> u8, size: usize, out: &mut [u8]) {
    // Gray is replicated: all three samples are read from the first.
    let step = if channels >= 3 { size } else { 0 };
    for (out, p) in out.chunks_exact_mut(3).zip(row.chunks_exact(pixel)) {
        out.copy_from_slice(&[read(p), read(&p[step..]), read(&p[2 * step..])]);
    }
}

#[inline(always)]
fn gray(row: &[u8], pixel: usize, channels: usize, read: impl Fn(&[u8]) -> u8, size: usize, out: &mut [u8]) {
    for (out, p) in out.iter_mut().zip(row.chunks_exact(pixel)) {
        *out = if channels >= 3 { luma(read(p), read(&p[size..]), read(&p[2 * size..])) } else { read(p) };
    }
}
