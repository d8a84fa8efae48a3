//! Points as bytes, for caches of samples.

use super::{PointRule, Points};
use crate::{
    Result,
    keep::{Reader, Writer, damaged},
};
use std::sync::Arc;

impl Points {
    pub(crate) fn save(&self, out: &mut Writer) {
        out.flag(self.rule.relative);
        out.flag(self.rule.to_relative);
        out.long(self.rule.pairs.len() as u64);
        for (a, b) in &self.rule.pairs {
            out.long(*a as u64);
            out.long(*b as u64);
        }
        out.canvas(self.canvas);
        out.long(self.shape.len() as u64);
        self.shape.iter().for_each(|side| out.long(*side as u64));
        out.doubles(self.numbers.iter().copied());
        out.flag(self.moved);
    }

    pub(crate) fn load(from: &mut Reader) -> Result<Points> {
        let (relative, to_relative) = (from.flag()?, from.flag()?);
        let pairs = (0..from.count(16)?).map(|_| Ok((from.size()?, from.size()?))).collect::<Result<_>>()?;
        let canvas = from.canvas()?;
        let shape = (0..from.count(8)?).map(|_| from.size()).collect::<Result<Vec<_>>>()?;
        let numbers = from.doubles()?;
        let elements = shape.iter().try_fold(1usize, |n, side| n.checked_mul(*side));
        if elements != Some(numbers.len()) {
            return Err(damaged());
        }
        // Checks the shape; numbers of points in an image were checked when they were decoded.
        let rule = Arc::new(PointRule { relative, to_relative, pairs });
        let points = Points::new(numbers, shape, rule)?;
        Ok(Points { canvas, moved: from.flag()?, ..points })
    }
}
