//! Pixels shared by several views of one image: the first that needs them decodes them for all.

use crate::{Channels, Error, ImageCodec, ImageInfo, Rect, Result, Scratch, Want, memory};
use bytes::Bytes;
use std::{
    convert::Infallible,
    sync::{Arc, OnceLock},
};

/// An encoded image that is decoded once, whole and at full size, for any number of views.
#[derive(Debug)]
pub(crate) struct Shared {
    bytes: Bytes,
    codec: &'static dyn ImageCodec,
    info: ImageInfo,
    want: Channels,
    pixels: OnceLock<Arc<Vec<u8>>>,
}

/// The pixels that a thread shared last. Their memory is reused once all views of them are gone.
#[derive(Default)]
struct Last(Arc<Vec<u8>>);

impl Shared {
    pub(crate) fn new(bytes: Bytes, codec: &'static dyn ImageCodec, info: ImageInfo, want: Channels) -> Self {
        Shared { bytes, codec, info, want, pixels: OnceLock::new() }
    }

    /// Returns the interleaved u8 rows of the whole image.
    pub(crate) fn pixels(&self, channels: u8, scratch: &mut Scratch) -> Result<Arc<Vec<u8>>> {
        if let Some(pixels) = self.pixels.get() {
            return Ok(Arc::clone(pixels));
        }
        let Ok(last) = scratch.keep(|| Ok::<_, Infallible>(Last::default()));
        let mut data = Arc::try_unwrap(std::mem::take(&mut last.0)).unwrap_or_default();
        scratch.decoding(|s| self.decode(usize::from(channels), s, &mut data))?;
        let pixels = Arc::new(data);
        let Ok(last) = scratch.keep(|| Ok::<_, Infallible>(Last::default()));
        last.0 = Arc::clone(&pixels);
        Ok(Arc::clone(self.pixels.get_or_init(|| pixels)))
    }

    fn decode(&self, channels: usize, scratch: &mut Scratch, data: &mut Vec<u8>) -> Result<()> {
        let ImageInfo { width, height, .. } = self.info;
        let region = Rect { x: 0, y: 0, width, height };
        let bytes = (width as usize).saturating_mul(height as usize).saturating_mul(channels);
        scratch.claim(bytes as u64)?;
        memory::resize(data, bytes)?;
        if self.codec.read_whole(&self.bytes, &self.info, self.want, scratch, data)? {
            return Ok(());
        }
        let want = Want { region, shrink: 1, channels: self.want };
        let patch = self.codec.read(&self.bytes, &self.info, &want, scratch, data)?;
        if patch.area == region {
            return Ok(());
        }
        Err(Error::Internal { what: format!("a codec gave {:?} of a whole image of {region:?}", patch.area) })
    }
}
