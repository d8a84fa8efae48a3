//! Run lengths: how many zeros, how many ones, how many zeros, and so on, column by column.

/// Characters of compressed counts begin at `0`; each has five bits and a mark that more follow.
const FIRST: u8 = b'0';
const BITS: u32 = 5;
const MORE: u8 = 0x20;
const NEGATIVE: u8 = 0x10;
/// Counts below 2^50 need at most ten characters.
const LONGEST: u32 = 10;

/// Reads compressed counts. From the fourth on a count is stored as the difference to the one two places before.
pub(super) fn decompress(text: &str) -> Result<Vec<u64>, String> {
    let mut counts: Vec<u64> = Vec::new();
    let mut value = 0_i64;
    let mut place = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        let wrong = |what: &str| format!("character {at} of its compressed counts {what}");
        let digit = byte.checked_sub(FIRST).filter(|digit| *digit < 64);
        let digit = digit.ok_or_else(|| wrong("is none that run lengths are written with"))?;
        if place == LONGEST {
            return Err(wrong("makes a number that is too large"));
        }
        value |= i64::from(digit & 0x1f) << (BITS * place);
        place += 1;
        if digit & MORE != 0 {
            continue;
        }
        if digit & NEGATIVE != 0 {
            value |= -1 << (BITS * place);
        }
        if let Some(before) = counts.len().checked_sub(2).filter(|_| counts.len() > 2) {
            value = value.saturating_add_unsigned(counts[before]);
        }
        counts.push(u64::try_from(value).map_err(|_| wrong("makes a negative count"))?);
        (value, place) = (0, 0);
    }
    if place > 0 {
        return Err("its compressed counts end in the middle of a number".to_owned());
    }
    Ok(counts)
}

/// Checks that runs cover an image exactly.
pub(super) fn check(counts: &[u64], height: u32, width: u32) -> Result<(), String> {
    let pixels = u64::from(height) * u64::from(width);
    let sum = counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
    if sum == Some(pixels) {
        return Ok(());
    }
    let sum = sum.map_or("more than 2^64".to_owned(), |sum| sum.to_string());
    Err(format!("its run lengths cover {sum} pixels, the image has {pixels} ({height} x {width})"))
}

/// Returns the runs of ones.
pub(super) fn ones(counts: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    let mut at = 0;
    counts.chunks(2).filter_map(move |pair| {
        let start = at + pair[0];
        let end = start + pair.get(1)?;
        at = end;
        Some((start, end))
    })
}
