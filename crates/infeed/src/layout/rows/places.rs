//! The offsets of the rows of a file, in about four and a half bytes each.

use infeed_core::{Error, Result, Sums};
use infeed_records::split::End;
use std::ops::Range;

/// Maximum remembered rows that do not take exactly one line; with more of them, lines are not counted.
const JUMPS: usize = 1 << 16;

/// The rows of a file, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RowPlaces {
    /// Offset of the first row. Titles come before it.
    pub(crate) start: u64,
    pub(crate) lens: Sums<u32>,
    /// Rows that do not start on the line after the start of the row before, and their line.
    pub(crate) jumps: Vec<(u64, u64)>,
    /// Whether lines are counted.
    pub(crate) counted: bool,
    /// The line of the next row.
    line: u64,
}

impl RowPlaces {
    /// Creates an empty list; the first row will start at `start`. `counted` says whether lines are counted.
    pub(crate) fn new(start: u64, counted: bool) -> Self {
        RowPlaces { start, counted, line: 1, ..RowPlaces::default() }
    }

    /// Creates a list from saved values.
    pub(crate) fn of(start: u64, lens: Vec<u32>, jumps: Vec<(u64, u64)>, counted: bool) -> Self {
        RowPlaces { start, lens: lens.into_iter().collect(), jumps, counted, line: 1 }
    }

    /// Adds a row of this many bytes and lines.
    pub(crate) fn push(&mut self, len: u64, lines: u32) -> Result<()> {
        let row = self.lens.len() as u64;
        let short = u32::try_from(len);
        self.lens
            .push(short.map_err(|_| Error::sample(format!("row {row} has {len} bytes; 4 GiB is the most")))?);
        self.pass(row + 1, lines);
        Ok(())
    }

    /// Counts lines before the row `next`.
    fn pass(&mut self, next: u64, lines: u32) {
        if !self.counted {
            return;
        }
        self.line += u64::from(lines);
        if lines != 1 {
            match self.jumps.last_mut() {
                Some(last) if last.0 == next => last.1 = self.line,
                _ => self.jumps.push((next, self.line)),
            }
            if self.jumps.len() > JUMPS {
                (self.jumps, self.counted) = (vec![], false);
            }
        }
    }

    /// Treats the first row as the titles of columns.
    pub(crate) fn titled(mut self, ends: &End) -> Self {
        self.start += ends.at as u64;
        self.pass(0, ends.lines);
        if self.counted && self.jumps.is_empty() {
            self.jumps.push((0, self.line));
        }
        self
    }

    /// Appends the rows of a later part of the same file; `rest` are bytes and lines between the two.
    pub(crate) fn append(&mut self, other: &RowPlaces, rest: (u64, u32)) -> Result<()> {
        for row in 0..other.lens.len() {
            let (mut len, mut lines) = (u64::from(other.lens.lens()[row]), 1);
            if other.counted {
                let next = other.line_of(row as u64 + 1).unwrap_or(0);
                lines = next.saturating_sub(other.line_of(row as u64).unwrap_or(0)) as u32;
            }
            if row == 0 {
                (len, lines) = (len + rest.0, lines + rest.1);
            }
            self.push(len, lines)?;
        }
        Ok(())
    }

    pub(crate) fn rows(&self) -> u64 {
        self.lens.len() as u64
    }

    pub(crate) fn shrink(mut self) -> Self {
        self.lens.shrink();
        self.jumps.shrink_to_fit();
        self
    }

    /// Returns the byte range of a row.
    pub(crate) fn range(&self, row: u64) -> Option<Range<u64>> {
        let range = self.lens.range(usize::try_from(row).ok()?)?;
        Some(self.start + range.start..self.start + range.end)
    }

    pub(crate) fn len(&self, row: u64) -> u64 {
        usize::try_from(row).ok().and_then(|row| self.lens.lens().get(row)).map_or(0, |len| u64::from(*len))
    }

    /// Returns the line where a row starts.
    pub(crate) fn line_of(&self, row: u64) -> Option<u64> {
        if !self.counted {
            return None;
        }
        let after = self.jumps.partition_point(|(at, _)| *at <= row);
        let (at, line) = after.checked_sub(1).map_or((0, 1), |jump| self.jumps[jump]);
        Some(line + row - at)
    }
}
