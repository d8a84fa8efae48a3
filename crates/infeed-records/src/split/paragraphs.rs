//! Splits paragraphs into rows, or takes everything as one row.

use super::{End, Split, is_blank};
use infeed_core::Result;
use memchr::memchr_iter;

/// Runs of lines separated by blank lines.
#[derive(Debug, Default)]
pub struct Paragraphs {
    seen: usize,
    line: usize,
    lines: u32,
    /// Whether a line of the current paragraph has been seen.
    inside: bool,
}

impl Split for Paragraphs {
    fn split(&mut self, bytes: &[u8], last: bool, ends: &mut Vec<End>) -> Result<()> {
        let from = self.seen.min(bytes.len());
        let mut base = 0;
        let open_end = (last && bytes.last().is_some_and(|b| *b != b'\n')).then_some(bytes.len());
        let stops = memchr_iter(b'\n', &bytes[from..]).map(|at| from + at + 1).chain(open_end);
        for at in stops {
            let blank = is_blank(&bytes[self.line..at]);
            if blank && self.inside {
                ends.push(End { at: self.line, lines: self.lines });
                (base, self.lines) = (self.line, 0);
            }
            self.inside = !blank;
            self.lines = self.lines.saturating_add(1);
            self.line = at;
        }
        if last && self.inside {
            ends.push(End { at: bytes.len(), lines: self.lines });
            (base, self.inside, self.lines, self.line) = (bytes.len(), false, 0, bytes.len());
        }
        (self.seen, self.line) = (bytes.len() - base, self.line - base);
        Ok(())
    }
}

/// Everything as one row, even if empty.
#[derive(Debug, Default)]
pub struct Whole {
    done: bool,
}

impl Split for Whole {
    fn split(&mut self, bytes: &[u8], last: bool, ends: &mut Vec<End>) -> Result<()> {
        if last && !self.done {
            self.done = true;
            ends.push(End { at: bytes.len(), lines: 0 });
        }
        Ok(())
    }
}
