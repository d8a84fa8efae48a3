//! Finds row ends in bytes that arrive in pieces.

mod lines;
mod paragraphs;

pub use lines::{Lines, is_blank};
pub use paragraphs::{Paragraphs, Whole};

use infeed_core::Result;
use std::fmt::Debug;

/// The end of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// End offset (exclusive).
    pub at: usize,
    /// Number of lines the row takes up, including blank ones before it; 0 if there are no lines.
    pub lines: u32,
}

/// Finds the ends of rows. A row begins where the previous one ends, so blank lines and the like belong to the row
/// after them. Anything after the last row is not a row.
pub trait Split: Debug + Send {
    /// Scans `bytes` and adds the end of every row in them, relative to their start. They must begin where the last
    /// row found ended, and so begin with what was left over from the last call. `last` says that nothing follows.
    fn split(&mut self, bytes: &[u8], last: bool, ends: &mut Vec<End>) -> Result<()>;
}

/// Splits `data` in pieces at `cuts` and returns the rows, which must not depend on the cuts.
#[cfg(test)]
pub(crate) fn in_pieces(mut split: Box<dyn Split>, data: &[u8], cuts: &[usize]) -> Result<Vec<Vec<u8>>> {
    let mut cuts: Vec<usize> = cuts.iter().map(|c| c % (data.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(data.len());
    let (mut rows, mut start, mut ends) = (vec![], 0, vec![]);
    for (i, to) in cuts.iter().enumerate() {
        ends.clear();
        split.split(&data[start..*to], i + 1 == cuts.len(), &mut ends)?;
        let base = start;
        for end in &ends {
            rows.push(data[start..base + end.at].to_vec());
            start = base + end.at;
        }
    }
    Ok(rows)
}

/// Feeds arbitrary bytes to the splitters: pieces and the whole must give the same rows, and ends must ascend
/// and stay within the input.
pub fn fuzz_split(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let make = || -> Box<dyn Split> {
        match kind % 5 {
            0 => Box::new(Lines::new(true)),
            1 => Box::new(Lines::new(false)),
            2 => Box::new(Paragraphs::default()),
            3 => Box::new(crate::tfrecord::Records::new(1 << 20)),
            _ => Box::new(crate::csv::RowFinder::new(b',')),
        }
    };
    let mut whole = vec![];
    let all = make().split(data, true, &mut whole);
    let mut before = 0;
    for end in &whole {
        assert!(end.at >= before && end.at <= data.len());
        before = end.at;
    }
    let half = data.len() / 2;
    let (mut split, mut ends) = (make(), vec![]);
    let first = split.split(&data[..half], false, &mut ends);
    let base = ends.last().map_or(0, |end| end.at);
    let mut rest = vec![];
    let second = first.and_then(|()| split.split(&data[base..], true, &mut rest));
    assert_eq!(all.is_ok(), second.is_ok());
    if all.is_ok() {
        ends.extend(rest.iter().map(|end| End { at: end.at + base, lines: end.lines }));
        assert_eq!(ends, whole);
    }
}

#[cfg(test)]
mod tests;
