//! Which chunks hold which bytes.

use std::ops::Range;

/// An object cut into chunks of one size; the last may be shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) size: u64,
    pub(super) chunk: u64,
}

/// Some bytes of one chunk, and where they belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Which of the ranges that were asked for.
    pub(super) range: usize,
    /// Where in the bytes of that range.
    pub(super) at: usize,
    /// Which bytes of the object.
    pub(super) bytes: Range<u64>,
}

/// A chunk and the parts of it that are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) chunk: u32,
    pub(super) parts: Vec<Part>,
}

impl Need {
    /// How many of its bytes are needed.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes.end - part.bytes.start).sum()
    }
}

impl Grid {
    /// The bytes of a chunk.
    pub(super) fn bytes(&self, chunk: u32) -> Range<u64> {
        let start = (u64::from(chunk) * self.chunk).min(self.size);
        start..self.size.min(start + self.chunk)
    }

    /// How many bytes a chunk has.
    pub(super) fn len(&self, chunk: u32) -> u64 {
        let bytes = self.bytes(chunk);
        bytes.end - bytes.start
    }

    /// Whether chunks of this object can be numbered, and the ranges lie in it.
    pub(super) fn holds(&self, ranges: &[Range<u64>]) -> bool {
        self.chunk > 0
            && self.size.div_ceil(self.chunk) <= u64::from(u32::MAX)
            && ranges.iter().all(|range| range.start <= range.end && range.end <= self.size)
    }

    /// The chunks that ranges need, in order.
    pub(super) fn needs(&self, ranges: &[Range<u64>]) -> Vec<Need> {
        let mut parts: Vec<(u32, Part)> = Vec::new();
        for (place, range) in ranges.iter().enumerate() {
            let mut start = range.start;
            while start < range.end {
                let chunk = (start / self.chunk) as u32;
                let end = range.end.min(self.bytes(chunk).end);
                parts.push((
                    chunk,
                    Part { range: place, at: (start - range.start) as usize, bytes: start..end },
                ));
                start = end;
            }
        }
        parts.sort_by_key(|(chunk, part)| (*chunk, part.bytes.start, part.range));
        let mut needs: Vec<Need> = Vec::new();
        for (chunk, part) in parts {
            match needs.last_mut() {
                Some(last) if last.chunk == chunk => last.parts.push(part),
                _ => needs.push(Need { chunk, parts: vec![part] }),
            }
        }
        needs
    }

    /// Joins neighbouring chunks to ranges of at most `most` bytes, as a store should be asked for them.
    pub(super) fn runs(&self, chunks: &[u32], most: u64) -> Vec<Range<u64>> {
        join(chunks.iter().map(|chunk| self.bytes(*chunk)), most)
    }
}

/// Joins ranges that follow each other without a gap, up to `most` bytes.
pub(super) fn join(ranges: impl Iterator<Item = Range<u64>>, most: u64) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for bytes in ranges {
        match runs.last_mut() {
            Some(last) if last.end == bytes.start && bytes.end - last.start <= most => last.end = bytes.end,
            _ => runs.push(bytes),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init)] // lists of ranges of bytes, some of them short

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_are_one_run() {
        let grid = Grid { size: 95, chunk: 10 };
        assert_eq!(grid.runs(&[0, 1, 2, 4, 8, 9], 30), [0..30, 40..50, 80..95]);
        assert_eq!(grid.runs(&[0, 1, 2], 20), [0..20, 20..30]);
        assert_eq!(grid.runs(&[3], 1), vec![30..40]);
        assert!(!grid.holds(&[0..96]) && grid.holds(&[95..95]));
        assert!(!Grid { size: u64::MAX, chunk: 1 }.holds(&[]));
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_part(
            size in 0u64..500,
            chunk in 1u64..70,
            asked in prop::collection::vec((0u64..500, 0u64..500), 0..8),
        ) {
            let ranges: Vec<Range<u64>> = asked
                .iter()
                .map(|(a, b)| (*a.min(b)).min(size)..(*a.max(b)).min(size))
                .collect();
            let grid = Grid { size, chunk };
            let mut seen: Vec<Vec<u8>> = ranges.iter().map(|r| vec![0; (r.end - r.start) as usize]).collect();
            let needs = grid.needs(&ranges);
            prop_assert!(needs.is_sorted_by(|a, b| a.chunk < b.chunk));
            for need in &needs {
                let bytes = grid.bytes(need.chunk);
                prop_assert_eq!(bytes.end - bytes.start, grid.len(need.chunk));
                for part in &need.parts {
                    prop_assert!(bytes.start <= part.bytes.start && part.bytes.end <= bytes.end);
                    prop_assert_eq!(part.bytes.start - ranges[part.range].start, part.at as u64);
                    let len = (part.bytes.end - part.bytes.start) as usize;
                    seen[part.range][part.at..part.at + len].iter_mut().for_each(|count| *count += 1);
                }
            }
            prop_assert!(seen.iter().flatten().all(|count| *count == 1));
        }
    }
}
