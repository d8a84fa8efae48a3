// A list of one range is meant, not the numbers in it.
#![allow(clippy::single_range_in_vec_init)]

use super::*;
use proptest::prelude::*;

fn reads(ranges: &[Range<u64>], gap: u64, most: u64) -> Vec<Range<u64>> {
    coalesce(ranges, Limits { gap, most }).reads
}

#[test]
fn neighbours_are_read_together() {
    assert_eq!(reads(&[0..10, 10..20, 25..30], 5, 100), [0..30]);
    assert_eq!(reads(&[0..10, 10..20, 26..30], 5, 100), [0..20, 26..30]);
    assert_eq!(reads(&[26..30, 0..10, 10..20], 5, 100), [0..20, 26..30]);
}

#[test]
fn no_read_grows_beyond_the_limit() {
    assert_eq!(reads(&[0..10, 10..20, 20..30], 0, 20), [0..20, 20..30]);
    assert_eq!(reads(&[0..50, 50..51], 0, 20), [0..50, 50..51]);
    // A repeated range is free, even if nothing may be joined.
    assert_eq!(reads(&[0..50, 10..20, 0..50], 0, 20), [0..50]);
}

#[test]
fn empty_ranges_are_not_read() {
    let plan = coalesce(&[5..5, 7..9], Limits::default());
    assert_eq!(plan.reads, [7..9]);
    assert_eq!(plan.cut(&[Bytes::from_static(b"ab")]).unwrap(), ["", "ab"]);
    assert!(coalesce(&[], Limits::default()).reads.is_empty());
}

#[test]
fn short_bytes_are_noticed() {
    let plan = coalesce(&[0..4, 4..8], Limits::default());
    assert!(plan.cut(&[Bytes::from_static(b"1234567")]).is_err());
    assert!(plan.cut(&[]).is_err());
}

proptest! {
    #[test]
    fn every_byte_asked_for_comes_back(
        asked in prop::collection::vec((0u64..5000, 0u64..300), 0..60),
        gap in 0u64..200,
        most in 1u64..1000,
    ) {
        let file: Bytes = (0..6000u32).map(|i| (i % 251) as u8).collect();
        let ranges: Vec<Range<u64>> = asked.iter().map(|(start, len)| *start..start + len).collect();
        let plan = coalesce(&ranges, Limits { gap, most });
        let read: Vec<Bytes> = plan.reads.iter().map(|r| file.slice(r.start as usize..r.end as usize)).collect();
        let cut = plan.cut(&read).unwrap();
        prop_assert_eq!(cut.len(), ranges.len());
        for (piece, range) in cut.iter().zip(&ranges) {
            prop_assert_eq!(piece, &file[range.start as usize..range.end as usize]);
        }
        let longest = ranges.iter().map(|r| r.end - r.start).max().unwrap_or(0);
        for read in &plan.reads {
            prop_assert!(read.end - read.start <= most.max(longest));
        }
        prop_assert!(plan.reads.is_sorted_by_key(|r| r.start));
        // Only the requested bytes and gaps are read.
        let wanted: u64 = ranges.iter().map(|r| r.end - r.start).sum();
        let read: u64 = plan.reads.iter().map(|r| r.end - r.start).sum();
        prop_assert!(read <= wanted + gap * ranges.len() as u64);
    }
}
