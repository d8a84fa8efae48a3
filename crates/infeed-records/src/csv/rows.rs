//! Finds where rows end: not at line ends inside quotes.

use crate::split::{End, Split, is_blank};
use infeed_core::{Error, Result};
use memchr::{memchr, memchr2};

/// Finds the rows of a file. A quote opens a field only at its start; elsewhere it is an ordinary character.
#[derive(Debug)]
pub struct RowFinder {
    delimiter: u8,
    seen: usize,
    line: usize,
    lines: u32,
    /// Whether the current position is inside quotes.
    quoted: bool,
    /// Lines before the current row, for messages.
    before: u64,
}

impl RowFinder {
    /// Creates a splitter for rows with this delimiter.
    pub fn new(delimiter: u8) -> Self {
        RowFinder { delimiter, seen: 0, line: 0, lines: 0, quoted: false, before: 0 }
    }
}

impl Split for RowFinder {
    fn split(&mut self, bytes: &[u8], last: bool, ends: &mut Vec<End>) -> Result<()> {
        let (mut at, mut base) = (self.seen.min(bytes.len()), 0);
        loop {
            if self.quoted {
                let Some(quote) = memchr(b'"', &bytes[at..]).map(|found| at + found) else {
                    self.lines += newlines(&bytes[at..]);
                    at = bytes.len();
                    break;
                };
                self.lines += newlines(&bytes[at..quote]);
                match bytes.get(quote + 1) {
                    Some(b'"') => at = quote + 2,
                    // Whether this quote ends the field depends on the next byte.
                    None if !last => {
                        at = quote;
                        break;
                    }
                    _ => (at, self.quoted) = (quote + 1, false),
                }
                continue;
            }
            let Some(found) = memchr2(b'"', b'\n', &bytes[at..]).map(|found| at + found) else {
                at = bytes.len();
                break;
            };
            at = found + 1;
            if bytes[found] == b'"' {
                let opens = found == self.line
                    || bytes[found - 1] == self.delimiter
                    || marked(bytes, self.line, found);
                self.quoted = opens;
                continue;
            }
            self.lines += 1;
            if !is_blank_row(&bytes[self.line..at]) {
                ends.push(End { at, lines: self.lines });
                self.before += u64::from(self.lines);
                (self.lines, base) = (0, at);
            }
            self.line = at;
        }
        if last {
            if self.quoted {
                let line = self.before + u64::from(newlines(&bytes[base..self.line.max(base)])) + 1;
                return Err(Error::sample(format!("a quote is opened in line {line} and never closed")));
            }
            if self.line < bytes.len() && !is_blank_row(&bytes[self.line..]) {
                ends.push(End { at: bytes.len(), lines: self.lines + 1 });
                (base, self.line, self.lines) = (bytes.len(), bytes.len(), 0);
            }
        }
        (self.seen, self.line) = (at.max(base) - base, self.line - base);
        Ok(())
    }
}

/// A quote after the UTF-8 byte order mark also opens a field.
fn marked(bytes: &[u8], line: usize, quote: usize) -> bool {
    bytes[line..quote] == *crate::text::MARK
}

/// Returns whether a line is empty. A line with a tab has two empty fields if tabs are the delimiter.
fn is_blank_row(line: &[u8]) -> bool {
    line.len() <= 2 && is_blank(line) && !line.contains(&b'\t') && !line.contains(&b' ')
}

fn newlines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}
