//! WebP, lossy and lossless; of an animation the first frame.

#[cfg_attr(infeed_portable, path = "absent.rs")]
mod ffi;

use super::{
    Codec, exif,
    pixels::{Decoded, byte_count, channel_count, check_region, luma, room},
};
use ffi::Features;
use infeed_core::{Channels, ImageCodec, ImageInfo, Patch, Rect, Result, Scratch, Want};

#[cfg(test)]
pub(super) mod tests;

/// The table entry.
pub(super) const CODEC: Codec = Codec {
    name: "webp",
    about: "WebP, lossy and lossless; decodes only the wanted region; the first frame of an animation",
    extensions: &["webp"],
    codec: &WebP,
};

#[derive(Debug)]
struct WebP;

impl ImageCodec for WebP {
    fn sniff(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")
    }

    fn probe(&self, bytes: &[u8]) -> Result<ImageInfo> {
        let features = ffi::features(bytes)?;
        Ok(ImageInfo {
            width: features.width,
            height: features.height,
            channels: if features.alpha { 4 } else { 3 },
            depth: 8,
            orientation: orientation(bytes),
            shrinks: 1,
        })
    }

    fn read(
        &self,
        bytes: &[u8],
        info: &ImageInfo,
        want: &Want,
        scratch: &mut Scratch,
        into: &mut Vec<u8>,
    ) -> Result<Patch> {
        check_region(info, want)?;
        let features = ffi::features(bytes)?;
        let channels = channel_count(info, want.channels);
        // libwebp makes whole pictures of four bytes per pixel where it cannot work row by row: lossless ones, alpha
        // (one byte) and the canvas of an animation, which has two.
        let pixels = u64::from(info.width) * u64::from(info.height);
        let own = match (features.animated, features.lossless) {
            (true, _) => pixels * 12,
            (false, true) => pixels * 4,
            (false, false) => pixels * u64::from(features.alpha),
        };
        let out = byte_count(want.region.width, want.region.height, 4)?;
        scratch.claim(own.saturating_add(out as u64))?;
        if features.animated {
            first_frame(bytes, info, want, into)?;
        } else {
            still(bytes, &features, want, into)?;
        }
        Ok(Patch { shrink: 1, area: want.region, channels })
    }
}

/// Decodes the region of a still picture.
fn still(bytes: &[u8], features: &Features, want: &Want, into: &mut Vec<u8>) -> Result<()> {
    let alpha = want.channels == Channels::Stored && features.alpha;
    let pixel = if alpha { 4 } else { 3 };
    let crop = if features.lossless { want.region } else { widened(want.region, features) };
    let stride = crop.width as usize * pixel;
    let out = room(into, byte_count(crop.width, crop.height, pixel)?)?;
    ffi::decode(bytes, crop, alpha, out, stride)?;
    // Drops the margin, and the colours if only gray is wanted. Bytes only move towards the front, so this works in
    // place.
    let to = if want.channels == Channels::Gray { 1 } else { pixel };
    let row = want.region.width as usize * to;
    let (left, top) = ((want.region.x - crop.x) as usize, (want.region.y - crop.y) as usize);
    for y in 0..want.region.height as usize {
        let from = (top + y) * stride + left * pixel;
        if to == pixel {
            into.copy_within(from..from + row, y * row);
        } else {
            for x in 0..row {
                let at = from + x * pixel;
                into[y * row + x] = luma(into[at], into[at + 1], into[at + 2]);
            }
        }
    }
    into.truncate(row * want.region.height as usize);
    Ok(())
}

/// Returns a region with a margin. Lossy files store colour at half size and interpolate it from neighbouring pixels.
/// Those are missing at the edge of what is decoded, so the edge must be outside the wanted region.
fn widened(region: Rect, features: &Features) -> Rect {
    const MARGIN: u32 = 2;
    // libwebp starts at even coordinates only.
    let (x, y) = (region.x.saturating_sub(MARGIN) & !1, region.y.saturating_sub(MARGIN) & !1);
    let right = (region.x + region.width + MARGIN).min(features.width);
    let bottom = (region.y + region.height + MARGIN).min(features.height);
    Rect { x, y, width: right - x, height: bottom - y }
}

/// Decodes the first frame of an animation.
fn first_frame(bytes: &[u8], info: &ImageInfo, want: &Want, into: &mut Vec<u8>) -> Result<()> {
    ffi::first_frame(bytes, |canvas, width, height| {
        // Checked again because the animation decoder reads the header by itself.
        check_region(&ImageInfo { width, height, ..*info }, want)?;
        let decoded = Decoded { data: canvas, width, channels: 4, wide: false };
        // A file without alpha reports three channels, but the canvas always has four.
        let channels = match (want.channels, info.channels) {
            (Channels::Stored, 3) => Channels::Rgb,
            (other, _) => other,
        };
        let out = room(into, byte_count(want.region.width, want.region.height, decoded.pixel(channels))?)?;
        decoded.write(want.region, channels, out);
        Ok(())
    })
}

/// The orientation in the `EXIF` chunk of an extended file.
fn orientation(bytes: &[u8]) -> u8 {
    let mut rest = bytes.get(12..).unwrap_or_default();
    while let Some((&[ref name @ .., a, b, c, d], tail)) = rest.split_first_chunk::<8>() {
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        let Some(data) = tail.get(..len) else { break };
        match name {
            b"EXIF" => return exif::orientation(data),
            // Chunks have even lengths.
            _ => rest = tail.get(len.saturating_add(len % 2)..).unwrap_or_default(),
        }
    }
    1
}
