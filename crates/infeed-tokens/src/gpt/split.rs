//! Splits a corpus by shares: `969, 30, 1`.

use infeed_core::{Error, Result};
use std::ops::Range;

/// Returns the documents of train, valid and test.
///
/// As in Megatron: shares are divided by their sum, each end is rounded (halves to even), and the total rounding
/// error is subtracted from all ends.
pub fn split(shares: &str, documents: u64) -> Result<[Range<u64>; 3]> {
    let wrong =
        |why: &str| Error::argument(format!("split=\"{shares}\" {why}; give shares such as \"969, 30, 1\""));
    let by = if shares.contains(',') { ',' } else { '/' };
    let mut parts = Vec::new();
    for part in shares.split(by) {
        let share: f64 = part.trim().parse().map_err(|_| wrong("is not a list of numbers"))?;
        if !(share.is_finite() && share >= 0.0) {
            return Err(wrong("has a share that is negative or not a number"));
        }
        parts.push(share);
    }
    parts.resize(3, 0.0);
    let sum: f64 = parts.iter().sum();
    if sum <= 0.0 {
        return Err(wrong("adds up to nothing"));
    }
    let mut ends = [0i64; 4];
    for (i, share) in parts.iter().enumerate() {
        ends[i + 1] = ends[i] + (share / sum * documents as f64).round_ties_even() as i64;
    }
    let over = ends[3] - documents as i64;
    for end in &mut ends[1..] {
        *end -= over;
    }
    // With very few documents the correction can put an end before the start: such a part is empty.
    let part = |i: usize| {
        let (from, to) = (ends[i].max(0) as u64, ends[i + 1].max(0) as u64);
        from..to.max(from)
    };
    Ok([part(0), part(1), part(2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_rounded_and_corrected() {
        assert_eq!(split("969, 30, 1", 1000).unwrap(), [0..969, 969..999, 999..1000]);
        assert_eq!(split("969, 30, 1", 10).unwrap(), [0..10, 10..10, 10..10]);
        assert_eq!(split("98,2,0", 77).unwrap(), [0..75, 75..77, 77..77]);
        // 0.5 * 5 = 2.5 rounds to 2 twice: one document remains, and all ends move.
        assert_eq!(split("1,1", 5).unwrap(), [0..3, 3..5, 5..5]);
        assert_eq!(split("1/1/2", 8).unwrap(), [0..2, 2..4, 4..8]);
        assert_eq!(split("100", 8).unwrap(), [0..8, 8..8, 8..8]);
        assert_eq!(split("1,1,1,7", 3).unwrap(), [0..1, 1..2, 2..3]);
        for bad in ["", "a,b", "0,0", "-1,2", "nan", "inf"] {
            assert!(split(bad, 9).unwrap_err().to_string().contains("969, 30, 1"), "{bad}");
        }
    }
}
