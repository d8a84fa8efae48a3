//! Every n-th place of a range, forwards or backwards: `order[start:stop:step]`.

use super::blocks::clipped;
use crate::Below;
use infeed_core::{Error, Order, Result};

/// Evenly spaced places of the underlying order. Also used to take or skip the first few.
#[derive(Debug)]
pub struct Slice {
    below: Below,
    first: u64,
    step: u64,
    backwards: bool,
    count: u64,
}

impl Slice {
    /// Selects the places `start`, `start + step`, ... before `stop`. As in Python, places beyond the end are ignored.
    pub fn new(below: Below, start: u64, stop: u64, step: u64) -> Result<Self> {
        if step == 0 {
            return Err(zero_step());
        }
        let stop = stop.min(below.places());
        let count = stop.saturating_sub(start).div_ceil(step);
        Ok(Slice { below, first: start.min(stop), step, backwards: false, count })
    }

    /// Selects exactly what Python's `order[start:stop:step]` selects, including negative and missing numbers.
    pub fn python(below: Below, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Result<Self> {
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(zero_step());
        }
        let places = i128::from(below.places());
        let backwards = step < 0;
        let (low, high) = if backwards { (-1, places - 1) } else { (0, places) };
        let bound = |given: Option<i64>, absent: i128| match given.map(i128::from) {
            None => absent,
            Some(at) if at < 0 => (at + places).max(low),
            Some(at) => at.min(high),
        };
        let start = bound(start, if backwards { high } else { low });
        let stop = bound(stop, if backwards { low } else { high });
        let span = if backwards { start - stop } else { stop - start };
        let step = step.unsigned_abs();
        let count = (span.max(0) as u64).div_ceil(step);
        Ok(Slice { below, first: start.max(0) as u64, step, backwards, count })
    }

    /// Selects the first `count` places, or all if there are fewer.
    pub fn take(below: Below, count: u64) -> Self {
        let count = count.min(below.places());
        Slice { below, first: 0, step: 1, backwards: false, count }
    }

    /// Selects all places but the first `count`.
    pub fn skip(below: Below, count: u64) -> Self {
        let first = count.min(below.places());
        let count = below.places() - first;
        Slice { below, first, step: 1, backwards: false, count }
    }
}

fn zero_step() -> Error {
    Error::plan("subset", "the step is 0; give 1 for every place, or -1 for every place backwards")
}

impl Order for Slice {
    fn places(&self) -> u64 {
        self.count
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let Some(last) = self.count.checked_sub(1) else {
            return places.fill(0);
        };
        // No product overflows: the last place is a valid place of the underlying order.
        if self.backwards {
            places.iter_mut().for_each(|place| *place = self.first - (*place).min(last) * self.step);
        } else {
            places.iter_mut().for_each(|place| *place = self.first + (*place).min(last) * self.step);
        }
        self.below.resolve(epoch, places);
    }

    fn blocks(&self) -> Option<Vec<u64>> {
        if self.step != 1 || self.backwards {
            return None;
        }
        let kept = self.first..self.first + self.count;
        Some(clipped(&self.below.blocks()?, &[kept]))
    }

    fn is_fixed(&self) -> bool {
        self.below.is_fixed()
    }

    fn describe(&self) -> String {
        let sign = if self.backwards { "-" } else { "" };
        let Slice { below, first, step, count, .. } = self;
        format!("{}, {count} places from {first} in steps of {sign}{step}", below.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sequential, algebra::check::holds};
    use infeed_core::OrderExt;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn rows(blocks: &[u64]) -> Below {
        Arc::new(Sequential::new(0, blocks))
    }

    #[test]
    fn as_python_does() {
        let slice = |start, stop, step| {
            let order = Slice::python(rows(&[10]), start, stop, step).unwrap();
            order.rows(0, 0..100)
        };
        assert_eq!(slice(None, None, None), (0..10).collect::<Vec<_>>());
        assert_eq!(slice(None, None, Some(-1)), (0..10).rev().collect::<Vec<_>>());
        assert_eq!(slice(Some(-3), None, None), [7, 8, 9]);
        assert_eq!(slice(Some(8), Some(1), Some(-3)), [8, 5, 2]);
        assert_eq!(slice(Some(100), Some(-100), Some(-4)), [9, 5, 1]);
        assert_eq!(slice(Some(1), Some(-1), Some(4)), [1, 5]);
        assert_eq!(slice(Some(5), Some(5), None), [0; 0]);
        assert_eq!(slice(Some(i64::MIN), Some(i64::MAX), Some(i64::MAX)), [0]);
        assert!(Slice::python(rows(&[10]), None, None, Some(0)).is_err());
        assert!(Slice::new(rows(&[10]), 0, 1, 0).is_err());
    }

    #[test]
    fn blocks_are_clipped() {
        let blocks = |start, stop| Slice::new(rows(&[3, 0, 4, 5]), start, stop, 1).unwrap().blocks();
        assert_eq!(blocks(0, 12), Some(vec![3, 4, 5]));
        assert_eq!(blocks(2, 8), Some(vec![1, 4, 1]));
        assert_eq!(blocks(3, 7), Some(vec![4]));
        assert_eq!(blocks(9, 2), Some(vec![]));
        assert_eq!(Slice::new(rows(&[3]), 0, 3, 2).unwrap().blocks(), None);
        assert_eq!(Slice::take(rows(&[3, 4]), 5).blocks(), Some(vec![3, 2]));
        assert_eq!(Slice::skip(rows(&[3, 4]), 5).blocks(), Some(vec![2]));
        assert_eq!(Slice::skip(rows(&[3, 4]), 50).places(), 0);
    }

    proptest! {
        #[test]
        fn every_step(n in 0u64..60, start in 0u64..70, stop in 0u64..70, step in 1u64..9) {
            let expected: Vec<u64> = (start..stop.min(n)).step_by(step as usize).collect();
            holds(&Slice::new(rows(&[n]), start, stop, step).unwrap(), 0, &expected);
        }

        /// Compares with the element-wise definition of a Python slice: walk from the start until the stop is passed.
        #[test]
        fn negative_ones(n in 0i64..30, start in -40i64..40, stop in -40i64..40, step in -7i64..7) {
            prop_assume!(step != 0);
            let inside = |at: i64, low: i64, high: i64| (if at < 0 { at + n } else { at }).clamp(low, high);
            let mut expected = vec![];
            if step > 0 {
                let (mut at, stop) = (inside(start, 0, n), inside(stop, 0, n));
                while at < stop {
                    expected.push(at as u64);
                    at += step;
                }
            } else {
                let (mut at, stop) = (inside(start, -1, n - 1), inside(stop, -1, n - 1));
                while at > stop {
                    expected.push(at as u64);
                    at += step;
                }
            }
            let order = Slice::python(rows(&[n as u64]), Some(start), Some(stop), Some(step)).unwrap();
            holds(&order, 0, &expected);
        }
    }
}
