//! PNG.

use super::{
    Codec, exif,
    pixels::{byte_count, channel_count, check_region, room, stored_channels, whole},
};
use infeed_core::{Channels, Error, ImageCodec, ImageInfo, Patch, Result, Scratch, Want};
use infeed_png::{Color, Decoder, Error as Cause, Output, read_header, stored_format};
use std::convert::Infallible;

#[cfg(test)]
pub(super) mod tests;

/// The table entry.
pub(super) const CODEC: Codec = Codec {
    name: "png",
    about: "PNG, 1 to 16 bits, palettes and alpha included; the default image of an animation",
    extensions: &["png", "apng"],
    codec: &Png,
};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

#[derive(Debug)]
struct Png;

impl ImageCodec for Png {
    fn sniff(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(SIGNATURE)
    }

    fn probe(&self, bytes: &[u8]) -> Result<ImageInfo> {
        let header = read_header(bytes).map_err(explain)?;
        let (channels, sample) = stored_format(&header);
        Ok(ImageInfo {
            width: header.width,
            height: header.height,
            channels: stored_channels(channels as u8, sample == 2),
            depth: 8 * sample as u8,
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
        let header = read_header(bytes).map_err(explain)?;
        let channels = channel_count(info, want.channels);
        let (output, sample) = output(&header, want.channels);
        let pixel = usize::from(channels) * sample;
        // Rows depend on the rows above them and decoding cannot start midway, so the whole image is decoded and
        // returned: cutting the region out would be one more copy.
        let len = byte_count(info.width, info.height, pixel)?;
        scratch.claim((len as u64).saturating_add(header.inflated_len()))?;
        // Before memory is taken for a file that only claims to be large.
        if !header.fits_in(bytes.len()) {
            return Err(explain(Cause::Truncated));
        }
        let out = room(into, len)?;
        let Ok(decoder) = scratch.keep(|| Ok::<_, Infallible>(Decoder::new()));
        decoder.decode(bytes, &header, output, out, info.width as usize * pixel).map_err(explain)?;
        Ok(Patch { shrink: 1, area: whole(info), channels })
    }

    fn read_whole(
        &self,
        bytes: &[u8],
        info: &ImageInfo,
        channels: Channels,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<bool> {
        let header = read_header(bytes).map_err(explain)?;
        let (output, sample) = output(&header, channels);
        let stride = info.width as usize * usize::from(channel_count(info, channels));
        if sample != 1 || out.len() != stride * info.height as usize {
            return Ok(false);
        }
        scratch.claim(header.inflated_len())?;
        let Ok(decoder) = scratch.keep(|| Ok::<_, Infallible>(Decoder::new()));
        decoder.decode(bytes, &header, output, out, stride).map_err(explain)?;
        Ok(true)
    }
}

/// Returns the samples of a PNG with a palette or with gray of at most 8 bits as they are stored, for masks: reading it as an
/// image would look them up or scale them. `None` for other files.
pub(super) fn indices(bytes: &[u8], info: &ImageInfo, scratch: &mut Scratch) -> Result<Option<Vec<u8>>> {
    let Ok(header) = read_header(bytes) else { return Ok(None) };
    if !matches!(header.color, Color::Gray | Color::Palette { .. }) || header.bit_depth == 16 {
        return Ok(None);
    }
    let len = byte_count(info.width, info.height, 1)?;
    scratch.claim((len as u64).saturating_add(header.inflated_len()))?;
    if !header.fits_in(bytes.len()) {
        return Err(explain(Cause::Truncated));
    }
    let mut data = Vec::new();
    let out = room(&mut data, len)?;
    scratch.decoding(|s| {
        let Ok(decoder) = s.keep(|| Ok::<_, Infallible>(Decoder::new()));
        decoder.decode(bytes, &header, Output::Index, out, info.width as usize).map_err(explain)
    })?;
    Ok(Some(data))
}

/// Returns the output format to request from the decoder, and the bytes of one sample.
fn output(header: &infeed_png::Header, channels: Channels) -> (Output, usize) {
    match channels {
        Channels::Rgb => (Output::Rgb, 1),
        Channels::Gray => (Output::Gray, 1),
        Channels::Stored => match stored_format(header) {
            (2, 1) => (Output::Rgba, 1),
            (_, sample) => (Output::AsStored, sample),
        },
    }
}

/// Returns the orientation in an `eXIf` chunk, which may also come after the pixels.
fn orientation(bytes: &[u8]) -> u8 {
    let mut rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    while let Some((&[a, b, c, d, ref name @ ..], tail)) = rest.split_first_chunk::<8>() {
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        let Some(data) = tail.get(..len) else { break };
        match name {
            b"eXIf" => return exif::orientation(data),
            b"IEND" => break,
            // A checksum follows the data.
            _ => rest = tail.get(len.saturating_add(4)..).unwrap_or_default(),
        }
    }
    1
}

fn explain(cause: Cause) -> Error {
    match cause {
        Cause::Truncated => Error::sample("PNG ends early: the file is truncated"),
        Cause::BadRequest(what) => Error::Internal { what: format!("PNG: {what}") },
        other => Error::sample(other.to_string()),
    }
}
