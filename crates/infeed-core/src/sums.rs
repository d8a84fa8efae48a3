//! Prefix sums in little memory.

use std::ops::Range;

/// Interval of stored starts. Adding up fifteen lengths costs less than a cache miss.
const EVERY: usize = 16;

/// Lengths of consecutive parts, and where each part starts.
///
/// Only the start of every sixteenth part is stored; the others are computed on request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums<T = u64> {
    lens: Vec<T>,
    /// Starts of the parts 0, 16, 32, ...
    starts: Vec<u64>,
    total: u64,
}

impl<T: Copy + Into<u64>> Sums<T> {
    /// Creates an empty list with capacity for `parts` parts.
    pub fn with_capacity(parts: usize) -> Self {
        Sums { lens: Vec::with_capacity(parts), starts: Vec::with_capacity(parts.div_ceil(EVERY)), total: 0 }
    }

    /// Appends a part.
    pub fn push(&mut self, len: T) {
        if self.lens.len().is_multiple_of(EVERY) {
            self.starts.push(self.total);
        }
        self.lens.push(len);
        self.total += len.into();
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.lens.len()
    }

    /// Whether there is no part.
    pub fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    /// Returns the length of each part.
    pub fn lens(&self) -> &[T] {
        &self.lens
    }

    /// Returns the total length.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the range of a part, if it exists.
    pub fn range(&self, part: usize) -> Option<Range<u64>> {
        let len: u64 = (*self.lens.get(part)?).into();
        let noted = part / EVERY;
        let start = self.starts[noted] + sum(&self.lens[noted * EVERY..part]);
        Some(start..start + len)
    }

    /// Returns the part that holds a place, and the offset in it. Empty parts hold nothing.
    pub fn find(&self, place: u64) -> Option<(usize, u64)> {
        if place >= self.total {
            return None;
        }
        let noted = self.starts.partition_point(|start| *start <= place).checked_sub(1)?;
        let mut rest = place - self.starts[noted];
        for part in noted * EVERY..self.lens.len() {
            let len: u64 = self.lens[part].into();
            if rest < len {
                return Some((part, rest));
            }
            rest -= len;
        }
        None
    }

    /// Releases unused memory.
    pub fn shrink(&mut self) {
        self.lens.shrink_to_fit();
        self.starts.shrink_to_fit();
    }
}

impl<T: Copy + Into<u64>> FromIterator<T> for Sums<T> {
    fn from_iter<I: IntoIterator<Item = T>>(lens: I) -> Self {
        let lens = lens.into_iter();
        let mut sums = Sums::with_capacity(lens.size_hint().0);
        lens.for_each(|len| sums.push(len));
        sums.shrink();
        sums
    }
}

fn sum<T: Copy + Into<u64>>(lens: &[T]) -> u64 {
    lens.iter().map(|len| (*len).into()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_in_its_part(lens in prop::collection::vec(0u32..5, 0..70)) {
            let sums: Sums<u32> = lens.iter().copied().collect();
            let mut place = 0;
            for (part, len) in lens.iter().enumerate() {
                prop_assert_eq!(sums.range(part), Some(place..place + u64::from(*len)));
                for inside in 0..u64::from(*len) {
                    prop_assert_eq!(sums.find(place + inside), Some((part, inside)));
                }
                place += u64::from(*len);
            }
            prop_assert_eq!((sums.total(), sums.find(place), sums.range(lens.len())), (place, None, None));
        }
    }
}
