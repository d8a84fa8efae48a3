//! TFRecord files and the `tf.train.Example` in their records.
//!
//! ```text
//! u64 length | u32 checksum of the length | the record | u32 checksum of the record       all little-endian
//! ```

mod example;
mod feature;

pub use example::{Feature, features, fuzz_example};
pub use feature::{FeatureKind, guess, value};

use crate::split::{End, Split};
use infeed_core::{Error, Result};
use std::ops::Range;

/// Size in bytes of the header before a record.
pub const HEAD: usize = 12;
/// Size in bytes of the checksum after a record.
pub const TAIL: usize = 4;

/// Computes a masked checksum: rotated and offset, so that data that contains checksums can be checksummed safely.
fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|b| u32::from_le_bytes(*b))
}

/// Returns the length of the record with this header; `None` if the checksum does not match.
pub fn length(head: &[u8]) -> Option<u64> {
    let length = head.first_chunk::<8>()?;
    (u32_at(head, 8)? == masked(length)).then(|| u64::from_le_bytes(*length))
}

/// Returns the range of the record in the bytes of a row. Checks the length, and the record if `check` is set.
pub fn record(row: &[u8], check: bool) -> Result<Range<usize>> {
    let bad_head = || {
        Error::sample("the checksum of the record's length does not fit: the file is damaged, or no TFRecord")
    };
    let len = length(row).ok_or_else(bad_head)?;
    if len.checked_add((HEAD + TAIL) as u64) != Some(row.len() as u64) {
        return Err(Error::sample(format!(
            "the record says it has {len} bytes, its place is {} bytes long",
            row.len()
        )));
    }
    let range = HEAD..row.len() - TAIL;
    if check && u32_at(row, range.end) != Some(masked(&row[range.clone()])) {
        return Err(Error::sample("the checksum of the record does not fit its bytes: the file is damaged"));
    }
    Ok(range)
}

/// Frames a record as it is written to a file.
pub fn framed(record: &[u8]) -> Vec<u8> {
    let length = (record.len() as u64).to_le_bytes();
    [&length[..], &masked(&length).to_le_bytes(), record, &masked(record).to_le_bytes()].concat()
}

/// Finds records in a stream.
#[derive(Debug)]
pub struct Records {
    largest: u64,
}

impl Records {
    /// Creates a splitter that rejects records of more than `largest` bytes.
    pub fn new(largest: u64) -> Self {
        Records { largest }
    }
}

impl Split for Records {
    fn split(&mut self, bytes: &[u8], last: bool, ends: &mut Vec<End>) -> Result<()> {
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + HEAD) {
            let wrong = "the checksum of a record's length does not fit: the data is damaged, or no TFRecord";
            let len = length(head).ok_or_else(|| Error::sample(wrong))?;
            if len > self.largest {
                let largest = self.largest;
                return Err(Error::sample(format!(
                    "a record of {len} bytes is larger than max_row={largest} allows"
                )));
            }
            let next = usize::try_from(len).ok().and_then(|len| len.checked_add(at + HEAD + TAIL));
            match next.filter(|next| *next <= bytes.len()) {
                Some(next) => at = next,
                None => break,
            }
            ends.push(End { at, lines: 0 });
        }
        if last && at < bytes.len() {
            let left = bytes.len() - at;
            return Err(Error::sample(format!(
                "the data is cut off inside a record: {left} bytes are left of it"
            )));
        }
        Ok(())
    }
}

/// Parses an index file: one `offset length` per line, for contiguous records up to the end of the file. Returns
/// `None` if it does not match a file of `size` bytes.
pub fn index(text: &str, size: u64) -> Option<Vec<u64>> {
    let (mut lens, mut at) = (vec![], 0u64);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_ascii_whitespace();
        let (offset, len): (u64, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        if offset != at || len < (HEAD + TAIL) as u64 || words.next().is_some() {
            return None;
        }
        at = at.checked_add(len).filter(|at| *at <= size)?;
        lens.push(len);
    }
    (at == size).then_some(lens)
}

/// Feeds arbitrary bytes to the record parser: every record it accepts must frame to the same row.
pub fn fuzz_tfrecord(data: &[u8]) {
    let mut ends = vec![];
    let _ = Records::new(1 << 20).split(data, true, &mut ends);
    let mut start = 0;
    for end in ends {
        let row = &data[start..end.at];
        start = end.at;
        if let Ok(range) = record(row, true) {
            assert_eq!(framed(&row[range]), row);
        }
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(lens) = index(text, 1000)
    {
        assert_eq!(lens.iter().sum::<u64>(), 1000);
    }
}

#[cfg(test)]
mod tests;
