//! Ranges of bytes.

use std::ops::Range;

/// Sorts ranges; those that overlap or touch are one.
pub fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut out: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(joined(vec![8..9, 0..3, 3..5, 1..2, 7..8]), [0..5, 7..9]);
        assert_eq!(joined(Vec::new()), []);
    }
}
