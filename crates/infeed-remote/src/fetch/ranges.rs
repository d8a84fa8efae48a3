//! Joining and splitting of ranges.

use std::ops::Range;

/// Bytes that are read for nothing rather than sending another request: at 1 GB/s over 64 connections a request of 30 ms
/// costs as much as half a megabyte; half of that leaves room for slower networks.
const GAP: u64 = 256 << 10;
/// The largest span that is joined.
const SPAN: u64 = 8 << 20;
/// The largest part that one request brings. Larger ones keep one connection busy while others idle, and their buffers leave
/// the processor's cache before they are read.
pub(super) const PART: u64 = 4 << 20;

/// Joins ranges that are near each other. What comes back is sorted, covers all of them and does not overlap.
pub(super) fn join(wanted: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = wanted.iter().filter(|r| r.start < r.end).cloned().collect();
    sorted.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(last) if range.start - last.end <= GAP && range.end - last.start <= SPAN => {
                last.end = range.end
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Cuts a range into parts of about the same length.
pub(super) fn split(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let (start, len) = (range.start, range.end.saturating_sub(range.start));
    let parts = len.div_ceil(PART).max(1);
    // In u128: a length near the end of the numbers times the parts is larger than they are.
    let edge = move |part: u64| start + (u128::from(len) * u128::from(part) / u128::from(parts)) as u64;
    (0..parts).map(move |part| edge(part)..edge(part + 1)).filter(|part| part.start < part.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_is_covered_and_little_is_added(
            ranges in prop::collection::vec((0u64..50_000_000, 0u64..3_000_000), 0..40),
        ) {
            let wanted: Vec<Range<u64>> = ranges.into_iter().map(|(start, len)| start..start + len).collect();
            let joined = join(&wanted);
            prop_assert!(joined.windows(2).all(|pair| pair[0].end < pair[1].start));
            for range in wanted.iter().filter(|r| r.start < r.end) {
                prop_assert!(joined.iter().any(|span| span.start <= range.start && range.end <= span.end));
            }
            // Nothing but gaps is added.
            let asked = |at: u64| wanted.iter().any(|r| r.contains(&at));
            for span in &joined {
                prop_assert!(asked(span.start) && asked(span.end - 1));
            }
        }

        #[test]
        fn parts_are_the_whole(start in 0u64..1 << 40, len in 0u64..1 << 30) {
            let parts: Vec<Range<u64>> = split(&(start..start + len)).collect();
            prop_assert_eq!(parts.iter().map(|p| p.end - p.start).sum::<u64>(), len);
            prop_assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(parts.iter().all(|part| part.end - part.start <= PART));
            prop_assert!(len == 0 || parts[0].start == start);
        }
    }
}
