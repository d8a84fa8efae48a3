//! Boxes as bytes, for caches of samples.

use super::{BoxFormat, BoxRule, Boxes};
use crate::{
    Result,
    keep::{Reader, Writer, damaged},
};
use std::sync::Arc;

const FORMATS: [BoxFormat; 3] = [BoxFormat::Xyxy, BoxFormat::Xywh, BoxFormat::Cxcywh];

fn format(format: BoxFormat) -> u8 {
    FORMATS.iter().position(|known| *known == format).unwrap_or(0) as u8
}

impl Boxes {
    pub(crate) fn save(&self, out: &mut Writer) {
        let BoxRule { format: stored, relative, to, to_relative, min_size, min_visible } = *self.rule;
        out.raw(&[format(stored), format(to)]);
        out.flag(relative);
        out.flag(to_relative);
        out.doubles([min_size, min_visible].into_iter());
        out.canvas(self.canvas);
        out.doubles(self.numbers.iter().flatten().copied().collect::<Vec<_>>().into_iter());
        self.gone.iter().for_each(|gone| out.flag(*gone));
        out.doubles(self.visible.iter().copied());
        out.flag(self.moved);
    }

    pub(crate) fn load(from: &mut Reader) -> Result<Boxes> {
        let [stored, to] = from.raw::<2>()?;
        let known = |at: u8| FORMATS.get(usize::from(at)).copied().ok_or_else(damaged);
        let (relative, to_relative) = (from.flag()?, from.flag()?);
        let [min_size, min_visible] = from.doubles()?.try_into().map_err(|_| damaged())?;
        let rule =
            BoxRule { format: known(stored)?, relative, to: known(to)?, to_relative, min_size, min_visible };
        let canvas = from.canvas()?;
        let flat = from.doubles()?;
        let (numbers, rest) = flat.as_chunks::<4>();
        let gone = numbers.iter().map(|_| from.flag()).collect::<Result<Vec<_>>>()?;
        let visible = from.doubles()?;
        if !rest.is_empty() || visible.len() != numbers.len() {
            return Err(damaged());
        }
        Ok(Boxes {
            rule: Arc::new(rule),
            canvas,
            numbers: numbers.to_vec(),
            gone,
            visible,
            moved: from.flag()?,
        })
    }
}
