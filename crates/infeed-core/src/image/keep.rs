//! Images that are kept for later: as pixels, or still encoded.
//!
//! What is done to an image afterwards must give the same pixels as if it had not been kept. So it is kept as pixels only where
//! nothing later could ask for others: a resize of a JPEG may decode it smaller, so one that was not resized yet stays encoded,
//! unless it is decoded exactly. Steps that would have rendered the image still do so ([`Was`]), because a filter applied to
//! mirrored pixels can round differently from mirrored results.

use super::{Finish, Image, MaskPixels, Origin, PixelLayout};
use crate::{
    Channels, Dtype, Error, ImageCodec, Result, Scratch,
    keep::{Reader, Writer, damaged},
    view::Track,
};
use infeed_resample::Filter;

/// What the view was before its pixels were rendered to be kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Was {
    /// A resize would render the image first.
    pub(super) resized: bool,
    /// A crop that reaches outside would.
    pub(super) cut: bool,
}

const FILTERS: [Filter; 6] =
    [Filter::Nearest, Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos];
const CHANNELS: [Channels; 3] = [Channels::Rgb, Channels::Gray, Channels::Stored];

/// How the format of encoded pixels is found.
pub type FindCodec = fn(&[u8]) -> Result<&'static dyn ImageCodec>;

impl Image {
    pub(super) fn can_resize(&self) -> bool {
        self.x.can_resize() && self.y.can_resize()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.x.inside() != (0..self.x.full) || self.y.inside() != (0..self.y.full)
    }

    /// Renders the image, if what is done to it later cannot depend on more than the pixels that it has now. With `encoded`
    /// it is left as it is.
    pub fn prepare_to_keep(&mut self, encoded: bool, scratch: &mut Scratch) -> Result<()> {
        let resized = !self.can_resize() || self.was.resized;
        let exact = match &self.origin {
            Origin::Encoded { info, exact, .. } => *exact || info.shrinks <= 1,
            Origin::Shared(_) | Origin::Raw { .. } | Origin::Lent { .. } => true,
        };
        let flipped = self.x.flip || self.y.flip;
        if encoded || !(resized || exact && !flipped) {
            return Ok(());
        }
        let whole = self.x == Track::new(self.size.0) && self.y == Track::new(self.size.1);
        if whole && matches!(self.origin, Origin::Raw { .. } | Origin::Lent { .. }) {
            return Ok(());
        }
        let was = Was { resized, cut: self.was.cut || self.is_cut() || self.x.padded() || self.y.padded() };
        self.settle(scratch)?;
        self.was = was;
        Ok(())
    }

    /// Whether its pixels were decoded.
    pub fn has_pixels(&self) -> bool {
        matches!(self.origin, Origin::Raw { .. } | Origin::Lent { .. })
    }

    /// Writes it down. Images with covers cannot be.
    pub(crate) fn save(&self, out: &mut Writer, scratch: &mut Scratch) -> Result<()> {
        self.uncovered()?;
        let shared;
        let (want, exact, data): (u8, bool, &[u8]) = match &self.origin {
            Origin::Encoded { bytes, want, exact, .. } => {
                (CHANNELS.iter().position(|known| known == want).unwrap_or(0) as u8, *exact, bytes)
            }
            Origin::Raw { data } => (PIXELS, true, data),
            Origin::Lent { data } => (PIXELS, true, data),
            Origin::Shared(origin) => {
                shared = origin.pixels(self.channels, scratch)?;
                (PIXELS, true, &shared)
            }
        };
        out.byte(want);
        out.flag(exact);
        out.numbers(&[self.size.0, self.size.1]);
        out.byte(self.channels);
        for track in [&self.x, &self.y] {
            out.numbers(&[track.start, track.len, track.full, track.out]);
            out.long(track.at as u64);
            out.flag(track.flip);
        }
        out.byte(FILTERS.iter().position(|known| *known == self.filter).unwrap_or(0) as u8);
        out.flag(self.antialias);
        out.raw(&self.fill);
        out.flag(self.mask.is_some());
        let mask = self.mask.unwrap_or(MaskPixels { wide: false, fill: 0 });
        out.flag(mask.wide);
        out.numbers(&[mask.fill as u32]);
        out.flag(self.was.resized);
        out.flag(self.was.cut);
        out.dtype(self.finish.dtype);
        out.flag(self.finish.layout == PixelLayout::Chw);
        for number in self.finish.scale.iter().chain(&self.finish.bias) {
            out.numbers(&[number.to_bits()]);
        }
        out.block(data);
        Ok(())
    }

    /// Reads what [`Image::save`] has written.
    pub(crate) fn load(from: &mut Reader, codec_of: FindCodec) -> Result<Image> {
        let (want, exact) = (from.byte()?, from.flag()?);
        let size = (from.number()?, from.number()?);
        let channels = from.byte()?;
        let mut track = |size: u32| {
            let [start, len, full, out] = [from.number()?, from.number()?, from.number()?, from.number()?];
            let (at, flip) = (from.long()? as i64, from.flag()?);
            let inside = start.checked_add(len).is_some_and(|end| end <= size);
            // Views of this size were possible before; sums of these numbers must not wrap round.
            if !inside || at.unsigned_abs() > 1 << 40 {
                return Err(damaged());
            }
            Ok(Track { start, len, full, at, out, flip })
        };
        let (x, y) = (track(size.0)?, track(size.1)?);
        let filter = FILTERS.get(usize::from(from.byte()?)).copied().ok_or_else(damaged)?;
        let antialias = from.flag()?;
        let fill = from.raw::<4>()?;
        let masked = from.flag()?;
        let mask = MaskPixels { wide: from.flag()?, fill: from.number()? as i32 };
        let was = Was { resized: from.flag()?, cut: from.flag()? };
        let dtype: Dtype = from.dtype()?;
        let layout = if from.flag()? { PixelLayout::Chw } else { PixelLayout::Hwc };
        let mut floats = || Ok::<_, Error>([from.float()?, from.float()?, from.float()?, from.float()?]);
        let finish = Finish { dtype, layout, scale: floats()?, bias: floats()? };
        let data = from.block()?;
        let mut image = if want == PIXELS {
            let pixels = u64::from(size.0) * u64::from(size.1) * u64::from(channels);
            if pixels != data.len() as u64 || data.is_empty() {
                return Err(damaged());
            }
            Image::new(Origin::Lent { data }, size, channels)
        } else {
            let want = CHANNELS.get(usize::from(want)).copied().ok_or_else(damaged)?;
            let codec = codec_of(&data)?;
            let info = codec.probe(&data)?;
            Image::encoded(data, codec, info, want, exact)
        };
        if (image.size, image.channels) != (size, channels) {
            return Err(damaged());
        }
        (image.x, image.y, image.filter, image.antialias, image.fill) = (x, y, filter, antialias, fill);
        (image.mask, image.was, image.finish) = (masked.then_some(mask), was, finish);
        Ok(image)
    }
}

/// Stands for pixels where encoded images have their channels.
const PIXELS: u8 = 255;

#[cfg(test)]
mod tests;
