//! Splits lines into rows.

use super::{End, Split};
use infeed_core::Result;
use memchr::memchr_iter;

/// Lines, ended by `\n`, which is optional for the last one.
#[derive(Debug)]
pub struct Lines {
    /// Whether a blank line is a row.
    blank: bool,
    /// Number of bytes already scanned.
    seen: usize,
    /// Start of the current line.
    line: usize,
    /// Number of blank lines before it.
    lines: u32,
}

impl Lines {
    /// Creates a splitter; `blank` says whether a blank line is a row.
    pub fn new(blank: bool) -> Self {
        Lines { blank, seen: 0, line: 0, lines: 0 }
    }
}

impl Split for Lines {
    fn split(&mut self, bytes: &[u8], last: bool, ends: &mut Vec<End>) -> Result<()> {
        let from = self.seen.min(bytes.len());
        let (mut line, mut lines, mut base) = (self.line, self.lines, 0);
        for at in memchr_iter(b'\n', &bytes[from..]).map(|at| from + at + 1) {
            if !self.blank && is_blank(&bytes[line..at]) {
                lines = lines.saturating_add(1);
            } else {
                ends.push(End { at, lines: lines.saturating_add(1) });
                (lines, base) = (0, at);
            }
            line = at;
        }
        if last && line < bytes.len() && (self.blank || !is_blank(&bytes[line..])) {
            ends.push(End { at: bytes.len(), lines: lines.saturating_add(1) });
            (lines, base, line) = (0, bytes.len(), bytes.len());
        }
        (self.seen, self.line, self.lines) = (bytes.len() - base, line - base, lines);
        Ok(())
    }
}

/// Returns whether a line has only whitespace.
pub fn is_blank(line: &[u8]) -> bool {
    // For nearly every line, the first byte decides.
    line.first().is_none_or(|b| *b <= b' ') && line.iter().all(u8::is_ascii_whitespace)
}
