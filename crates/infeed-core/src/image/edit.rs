//! Operations on pixels and finished values, beyond changes of the view.

use super::{Finish, Image, Origin};
use crate::{Cover, Error, Result, Scratch, memory, view::Track};
use std::sync::Arc;

impl Image {
    /// Renders the current view, so that the pixels can be edited. The finish is applied later.
    pub fn settle(&mut self, scratch: &mut Scratch) -> Result<()> {
        let finish = std::mem::replace(&mut self.finish, Finish::PLAIN);
        let covers = std::mem::take(&mut self.covers);
        // Of a mask the bytes are rendered, as they are stored.
        let mask = self.mask.take();
        scratch.claim(self.bytes() as u64)?;
        let mut data = memory::zeroed(self.bytes())?;
        self.render(scratch, &mut data)?;
        *self = Image::raw(self.x.out, self.y.out, self.channels, data)?;
        (self.finish, self.covers, self.mask) = (finish, covers, mask);
        Ok(())
    }

    /// Settles and returns the pixels for changing: interleaved u8 rows without padding.
    pub fn pixels_mut(&mut self, scratch: &mut Scratch) -> Result<&mut Vec<u8>> {
        self.uncovered()?;
        let whole = self.x == Track::new(self.size.0) && self.y == Track::new(self.size.1);
        if !whole || !matches!(self.origin, Origin::Raw { .. }) {
            self.settle(scratch)?;
        }
        match &mut self.origin {
            Origin::Raw { data } => {
                if Arc::get_mut(data).is_none() {
                    // Another view has them too: this one goes on with a copy.
                    scratch.claim(data.len() as u64 * 2)?;
                    let mut copy = memory::with_capacity(data.len())?;
                    copy.extend_from_slice(data);
                    *data = Arc::new(copy);
                }
                Ok(Arc::make_mut(data))
            }
            Origin::Encoded { .. } | Origin::Shared(_) | Origin::Lent { .. } => {
                Err(Error::Internal { what: "a settled image is still encoded".to_owned() })
            }
        }
    }

    /// Settles and replaces the image by one of (width, height, channels). `draw` gets the old pixels and the new
    /// ones, and must write all of the new ones. Both swap memory with the thread's spare buffer, so nothing is
    /// copied.
    pub fn redraw(
        &mut self,
        (width, height, channels): (u32, u32, u8),
        scratch: &mut Scratch,
        draw: impl FnOnce(&[u8], &mut [u8]),
    ) -> Result<()> {
        let bytes = (width as usize).saturating_mul(height as usize).saturating_mul(usize::from(channels));
        scratch.claim(bytes.saturating_add(self.bytes()) as u64)?;
        let mut made = std::mem::take(&mut scratch.spare);
        memory::resize(&mut made, bytes)?;
        let pixels = self.pixels_mut(scratch)?;
        draw(pixels, &mut made);
        scratch.spare = std::mem::replace(pixels, made);
        self.channels = channels;
        self.size = (width, height);
        (self.x, self.y) = (Track::new(width), Track::new(height));
        Ok(())
    }

    /// Refuses images with covers: the next operation would have to change them too, and cannot.
    pub(super) fn uncovered(&self) -> Result<()> {
        if self.covers.is_empty() {
            return Ok(());
        }
        Err(Error::sample(
            "after RandomErasing on float values only crops and flips may follow; put RandomErasing later",
        ))
    }

    /// Paints a rectangle over the finished values when they are rendered.
    pub fn cover(&mut self, cover: Cover) {
        self.covers.push(cover);
    }

    /// Settles and paints a rectangle over the pixels.
    pub fn paint_over(&mut self, cover: &Cover, scratch: &mut Scratch) -> Result<()> {
        let (size, channels) = ((self.x.out, self.y.out), self.channels);
        cover.paint(size, channels, &Finish::PLAIN, self.pixels_mut(scratch)?);
        Ok(())
    }

    /// Changes the values of channel `c` to (value - mean) / std, including those of covers.
    pub fn normalize(&mut self, c: usize, mean: f64, std: f64) {
        // Combined in f64: one multiply and one add per value, rounded once.
        let fold = |scale: &mut f32, bias: &mut f32| {
            *scale = (f64::from(*scale) / std) as f32;
            *bias = ((f64::from(*bias) - mean) / std) as f32;
        };
        fold(&mut self.finish.scale[c], &mut self.finish.bias[c]);
        for cover in &mut self.covers {
            fold(&mut cover.scale[c], &mut cover.bias[c]);
        }
    }
}
