//! GIF: the first frame, as Pillow shows it.

use super::{
    Codec,
    pixels::{byte_count, channel_count, check_region, luma, room},
};
use ::gif::{ColorOutput, DecodeOptions, Decoder, DecodingError, Frame, MemoryLimit};
use infeed_core::{Channels, Error, ImageCodec, ImageInfo, Patch, Result, Scratch, Want};
use std::{convert::Infallible, io::ErrorKind};

#[cfg(test)]
mod tests;

/// The table entry.
pub(super) const CODEC: Codec =
    Codec { name: "gif", about: "GIF; the first frame", extensions: &["gif"], codec: &Gif };

const ENDS_EARLY: &str = "GIF ends early: the file is truncated";

#[derive(Debug)]
struct Gif;

/// The thread's memory for the places in the palette that a frame consists of.
#[derive(Default)]
struct Indices(Vec<u8>);

/// Where the first frame lies on the canvas, and what colours it has.
struct Placed {
    /// The canvas, which is as large as the frame needs it: files that say less are shown whole by everybody.
    canvas: (u32, u32),
    left: usize,
    top: usize,
    size: (usize, usize),
    transparent: Option<u8>,
    /// RGBA of every place in the palette.
    colours: Box<[[u8; 4]; 256]>,
}

impl ImageCodec for Gif {
    fn sniff(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a")
    }

    fn probe(&self, bytes: &[u8]) -> Result<ImageInfo> {
        let (_, frame) = first(bytes)?;
        let (width, height) = frame.canvas;
        Ok(ImageInfo { width, height, channels: 4, depth: 8, orientation: 1, shrinks: 1 })
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
        let (mut decoder, frame) = first(bytes)?;
        let channels = channel_count(info, want.channels);
        let len = byte_count(frame.size.0 as u32, frame.size.1 as u32, 1)?;
        let out = byte_count(want.region.width, want.region.height, channels.into())?;
        scratch.claim(len as u64 + out as u64)?;
        let Ok(Indices(indices)) = scratch.keep(|| Ok::<_, Infallible>(Indices::default()));
        decoder.read_into_buffer(room(indices, len)?).map_err(explain)?;
        frame.show(indices, want, room(into, out)?);
        Ok(Patch { shrink: 1, area: want.region, channels })
    }
}

impl Placed {
    fn new(decoder: &Decoder<&[u8]>, frame: &Frame<'_>) -> Placed {
        let (left, top) = (u32::from(frame.left), u32::from(frame.top));
        let (width, height) = (u32::from(frame.width), u32::from(frame.height));
        let canvas =
            (u32::from(decoder.width()).max(left + width), u32::from(decoder.height()).max(top + height));
        // A place that the palette does not have is a gray of its number; so is every place where there is no palette.
        let mut colours: Box<[[u8; 4]; 256]> =
            Box::new(std::array::from_fn(|i| [i as u8, i as u8, i as u8, 255]));
        let palette = frame.palette.as_deref().or(decoder.global_palette()).unwrap_or_default();
        for (colour, stored) in colours.iter_mut().zip(palette.as_chunks::<3>().0) {
            colour[..3].copy_from_slice(stored);
        }
        if let Some(transparent) = frame.transparent {
            colours[usize::from(transparent)][3] = 0;
        }
        Placed {
            canvas,
            left: left as usize,
            top: top as usize,
            size: (width as usize, height as usize),
            transparent: frame.transparent,
            colours,
        }
    }

    /// Writes a region in the wanted channels. Around the frame lies what is transparent, or else the first colour.
    fn show(&self, indices: &[u8], want: &Want, out: &mut [u8]) {
        let around = self.colours[usize::from(self.transparent.unwrap_or(0))];
        let pixel = |place: Option<usize>| match place {
            Some(place) => self.colours[usize::from(indices[place])],
            None => around,
        };
        let region = want.region;
        let columns = region.x as usize..(region.x + region.width) as usize;
        let rows = region.y as usize..(region.y + region.height) as usize;
        let places = rows.flat_map(|y| {
            let row = y.checked_sub(self.top).filter(|row| *row < self.size.1);
            columns.clone().map(move |x| {
                let column = x.checked_sub(self.left).filter(|column| *column < self.size.0)?;
                row.map(|row| row * self.size.0 + column)
            })
        });
        match want.channels {
            Channels::Stored => out.as_chunks_mut().0.iter_mut().zip(places).for_each(|(o, p)| *o = pixel(p)),
            Channels::Rgb => {
                for (out, place) in out.as_chunks_mut::<3>().0.iter_mut().zip(places) {
                    let [r, g, b, _] = pixel(place);
                    *out = [r, g, b];
                }
            }
            Channels::Gray => {
                for (out, place) in out.iter_mut().zip(places) {
                    let [r, g, b, _] = pixel(place);
                    *out = luma(r, g, b);
                }
            }
        }
    }
}

/// A decoder that stands before the pixels of the first frame.
fn first(bytes: &[u8]) -> Result<(Decoder<&[u8]>, Placed)> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    // The library allocates no pixels: they go into memory that was claimed.
    options.set_memory_limit(MemoryLimit::Unlimited);
    let mut decoder = options.read_info(bytes).map_err(explain)?;
    let frame = match decoder.next_frame_info().map_err(explain)? {
        Some(frame) => frame.clone(),
        None => return Err(Error::sample("corrupt GIF: it has no frame")),
    };
    let placed = Placed::new(&decoder, &frame);
    Ok((decoder, placed))
}

fn explain(cause: DecodingError) -> Error {
    Error::sample(match cause {
        DecodingError::Io(e) if e.kind() == ErrorKind::UnexpectedEof => ENDS_EARLY.to_owned(),
        DecodingError::UnexpectedEof => ENDS_EARLY.to_owned(),
        other => format!("corrupt GIF: {other}"),
    })
}
