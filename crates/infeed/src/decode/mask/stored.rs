//! Classes as a file stores them: gray values or palette indices.

use crate::decode::{pixels::whole, png};
use infeed_core::{Channels, Error, ImageCodec, ImageInfo, Result, Scratch, Want};

/// Returns the classes with one channel of 8 bits, or with four that are the bytes of an i32 if `wide`.
pub(super) fn samples(
    bytes: &[u8],
    codec: &dyn ImageCodec,
    info: &ImageInfo,
    wide: bool,
    scratch: &mut Scratch,
) -> Result<(u8, Vec<u8>)> {
    let mut data = Vec::new();
    if let Some(found) = png::indices(bytes, info, scratch)? {
        data = found;
    } else {
        if info.channels != 1 {
            return Err(Error::sample(format!(
                "the mask has {} channels: colours are no classes; say which colour is which class with \
                 decoders.mask(colors=...), or decode it as \"rgb\"",
                info.channels
            )));
        }
        let want = Want { region: whole(info), shrink: 1, channels: Channels::Stored };
        scratch.decoding(|s| codec.read(bytes, info, &want, s, &mut data))?;
    }
    if info.depth == 16 {
        let classes = data.chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]]));
        if wide {
            scratch.claim(data.len() as u64 * 3)?;
            return Ok((4, classes.flat_map(|c| i32::from(c).to_ne_bytes()).collect()));
        }
        // The plan promised 8 bits: small classes in a wide file are common, others need to be asked for.
        let narrow = classes.map(|c| {
            u8::try_from(c).map_err(|_| {
                Error::sample(format!(
                    "the mask has the class {c}, which does not fit 8 bits: decoders.mask(dtype=\"int32\") makes room for it"
                ))
            })
        });
        return Ok((1, narrow.collect::<Result<_>>()?));
    }
    if wide {
        scratch.claim(data.len() as u64 * 5)?;
        return Ok((4, data.iter().flat_map(|c| i32::from(*c).to_ne_bytes()).collect()));
    }
    Ok((1, data))
}
