//! Masks: images whose pixels are classes. They are moved, never mixed.

use super::{Finish, Image, MaskPixels};
use crate::{Dtype, Error, Result, Scratch, memory};

impl MaskPixels {
    /// The bytes of the class outside of the image, one per channel.
    pub(super) fn bytes(self) -> [u8; 4] {
        if self.wide { self.fill.to_ne_bytes() } else { [self.fill as u8; 4] }
    }
}

impl Image {
    /// Makes a mask of decoded pixels: of one channel, or of four that are the bytes of an i32.
    pub fn into_mask(mut self, fill: i32, dtype: Option<Dtype>) -> Result<Self> {
        let wide = self.channels == 4;
        if !wide && self.channels != 1 {
            return Err(Error::Internal { what: format!("a mask of {} channels", self.channels) });
        }
        if !wide && u8::try_from(fill).is_err() {
            return Err(Error::sample(format!("the class {fill} does not fit a mask of 8 bits")));
        }
        self.mask = Some(MaskPixels { wide, fill });
        self.finish.dtype = dtype.unwrap_or(if wide { Dtype::I32 } else { Dtype::U8 });
        Ok(self)
    }

    /// Whether its pixels are classes.
    pub fn is_mask(&self) -> bool {
        self.mask.is_some()
    }

    /// Returns the class outside of a mask, as bytes of its channels.
    pub fn mask_fill(&self) -> Option<[u8; 4]> {
        self.mask.map(MaskPixels::bytes)
    }

    /// Takes over how another image is finished, and whether it is a mask.
    #[must_use]
    pub fn in_style_of(mut self, other: &Image) -> Self {
        (self.finish, self.mask) = (other.finish, other.mask);
        self
    }

    /// Renders classes as numbers of another type.
    pub(super) fn render_mask(&self, mask: MaskPixels, scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
        let mut stored = self.clone();
        (stored.mask, stored.finish) = (None, Finish::PLAIN);
        scratch.claim(stored.bytes() as u64)?;
        let mut bytes = std::mem::take(&mut scratch.spare);
        memory::resize(&mut bytes, stored.bytes())?;
        let done = stored.render(scratch, &mut bytes);
        if done.is_ok() {
            if mask.wide {
                let classes = bytes.chunks_exact(4).map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
                widen(classes, self.finish.dtype, out)?;
            } else {
                widen(bytes.iter().map(|b| i32::from(*b)), self.finish.dtype, out)?;
            }
        }
        scratch.spare = bytes;
        done
    }
}

fn widen(classes: impl Iterator<Item = i32>, dtype: Dtype, out: &mut [u8]) -> Result<()> {
    macro_rules! write {
        ($t:ty) => {
            for (class, out) in classes.zip(out.chunks_exact_mut(size_of::<$t>())) {
                let class = <$t>::try_from(class).map_err(|_| {
                    Error::sample(format!("the class {class} does not fit {dtype}: choose a wider type"))
                })?;
                out.copy_from_slice(&class.to_ne_bytes());
            }
        };
    }
    match dtype {
        Dtype::U8 => write!(u8),
        Dtype::U16 => write!(u16),
        Dtype::I16 => write!(i16),
        Dtype::I32 => write!(i32),
        Dtype::I64 => write!(i64),
        Dtype::F32 => {
            for (class, out) in classes.zip(out.chunks_exact_mut(4)) {
                out.copy_from_slice(&(class as f32).to_ne_bytes());
            }
        }
        other => return Err(Error::sample(format!("masks cannot be {other}: choose an integer type"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use infeed_resample::Filter;

    fn rendered(image: &Image) -> Vec<u8> {
        let mut out = vec![0; image.bytes()];
        image.render(&mut Scratch::new(), &mut out).unwrap();
        out
    }

    #[test]
    fn classes_are_moved_and_never_mixed() {
        let pixels: Vec<u8> = (0..20 * 30).map(|i| if i % 7 < 3 { 2 } else { 200 }).collect();
        let mut mask = Image::raw(30, 20, 1, pixels).unwrap().into_mask(255, None).unwrap();
        let mut scratch = Scratch::new();
        mask.resize(17, 11, Filter::Bilinear, true, &mut scratch).unwrap();
        mask.crop(-2, 0, 20, 11, [0; 4], &mut scratch).unwrap();
        mask.resize(40, 40, Filter::Bicubic, true, &mut scratch).unwrap();
        assert_eq!(mask.shape(), [40, 40]);
        let out = rendered(&mask);
        assert!(out.iter().all(|class| [2, 200, 255].contains(class)), "{out:?}");
        assert!([2, 200, 255].iter().all(|class| out.contains(class)));
    }

    #[test]
    fn wide_classes_stay_whole() {
        let classes = [0i32, 1, 70_000, 16_777_215, -1, 256];
        let bytes = classes.iter().flat_map(|c| c.to_ne_bytes()).collect();
        let mut mask = Image::raw(3, 2, 4, bytes).unwrap().into_mask(-1, Some(Dtype::I64)).unwrap();
        mask.flip_horizontal();
        mask.crop(0, 0, 3, 3, [0; 4], &mut Scratch::new()).unwrap();
        let out = rendered(&mask);
        let got: Vec<i64> = out.chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect();
        assert_eq!(got, [70_000, 1, 0, 256, -1, 16_777_215, -1, -1, -1]);
        mask.finish.dtype = Dtype::U16;
        let mut out = vec![0; mask.bytes()];
        assert!(mask.render(&mut Scratch::new(), &mut out).unwrap_err().to_string().contains("70000"));
    }
}
