//! JPEG: regions and shrinking while decoding.

use super::{
    Codec,
    pixels::{byte_count, channel_count, check_region, room},
};
use infeed_core::{Channels, Error, ImageCodec, ImageInfo, Patch, Rect, Result, Scratch, Want};
use infeed_jpeg::{
    Color, Decoder, Error as Cause, Output, Region, Request, Scale, read_header, suits_engines,
};

#[cfg(test)]
pub(super) mod tests;

/// The table entry.
pub(super) const CODEC: Codec = Codec {
    name: "jpeg",
    about: "JPEG; decodes only the wanted region, and shrinks while decoding",
    extensions: &["jpg", "jpeg", "jpe", "jfif"],
    codec: &Jpeg,
};

#[derive(Debug)]
struct Jpeg;

impl ImageCodec for Jpeg {
    fn sniff(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"\xff\xd8\xff")
    }

    fn probe(&self, bytes: &[u8]) -> Result<ImageInfo> {
        let header = read_header(bytes).map_err(explain)?;
        Ok(ImageInfo {
            width: header.width,
            height: header.height,
            // CMYK becomes RGB.
            channels: if header.color == Color::Gray { 1 } else { 3 },
            depth: 8,
            orientation: header.orientation,
            shrinks: 8,
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
        let scale = match want.shrink {
            1 => Scale::Full,
            2 => Scale::Half,
            4 => Scale::Quarter,
            8 => Scale::Eighth,
            other => return Err(Error::Internal { what: format!("a JPEG cannot shrink by {other}") }),
        };
        let header = read_header(bytes).map_err(explain)?;
        let area = shrunken(want.region, want.shrink);
        let channels = channel_count(info, want.channels);
        let output = match (want.channels, channels) {
            (Channels::Gray, _) | (Channels::Stored, 1) => Output::Gray,
            _ => Output::Rgb,
        };
        let len = byte_count(area.width, area.height, output.channels())?;
        // Twice: of some files more than the region is decoded before the region is copied out of it.
        scratch.claim((len as u64).saturating_mul(2).saturating_add(header.working_memory()))?;
        let limit = scratch.budget().limit();
        let decoder = scratch.keep(|| Decoder::new().map_err(explain))?;
        decoder.limit_memory(limit).map_err(explain)?;
        let out = room(into, len)?;
        let region = Region { x: area.x, y: area.y, width: area.width, height: area.height };
        let stride = area.width as usize * output.channels();
        decoder.decode(bytes, &header, &Request { scale, region, output }, out, stride).map_err(explain)?;
        Ok(Patch { shrink: want.shrink, area, channels })
    }

    fn whole(&self, bytes: &[u8]) -> Option<usize> {
        suits_engines(bytes)
    }
}

/// Returns every shrunken pixel that covers a part of the region. The image's own size is rounded up too, so the end
/// stays inside it.
fn shrunken(region: Rect, by: u32) -> Rect {
    let (x, y) = (region.x / by, region.y / by);
    let (right, bottom) = ((region.x + region.width).div_ceil(by), (region.y + region.height).div_ceil(by));
    Rect { x, y, width: right - x, height: bottom - y }
}

fn explain(cause: Cause) -> Error {
    match cause {
        Cause::NotJpeg => Error::sample("not a JPEG: it does not start with the marker FF D8"),
        Cause::Truncated => Error::sample("JPEG ends early: the file is truncated"),
        Cause::TooLarge { width, height } => Error::sample(format!(
            "JPEG claims {width}x{height} pixels, more than any decoder takes: max_pixels cannot help"
        )),
        Cause::BadRequest(what) => Error::Internal { what: format!("JPEG: {what}") },
        other => Error::sample(other.to_string()),
    }
}
