//! Parses the fields of a row.

use infeed_core::{Error, Result};
use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// The location of a field in its row, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Start offset.
    pub start: usize,
    /// End offset (exclusive).
    pub end: usize,
    /// Whether it contains doubled quotes.
    pub doubled: bool,
}

impl Cell {
    /// Returns the unquoted contents.
    pub fn bytes<'a>(&self, row: &'a [u8]) -> Cow<'a, [u8]> {
        let raw = &row[self.start..self.end];
        if !self.doubled {
            return raw.into();
        }
        let (mut out, mut rest) = (Vec::with_capacity(raw.len()), raw);
        while let Some(quote) = memchr(b'"', rest) {
            out.extend_from_slice(&rest[..=quote]);
            let next = quote + 1 + usize::from(rest.get(quote + 1) == Some(&b'"'));
            rest = &rest[next..];
        }
        out.extend_from_slice(rest);
        out.into()
    }
}

/// Finds the fields of a row, which must not include its line end.
pub fn cells(row: &[u8], delimiter: u8, out: &mut Vec<Cell>) -> Result<()> {
    out.clear();
    let mut at = 0;
    loop {
        let (cell, next) = if row.get(at) == Some(&b'"') {
            quoted(row, at + 1, delimiter)?
        } else {
            plain(row, at, delimiter)
        };
        out.push(cell);
        match next {
            Some(next) => at = next,
            None => return Ok(()),
        }
    }
}

/// Parses an unquoted field and returns where the next one begins.
#[inline(always)]
fn plain(row: &[u8], start: usize, delimiter: u8) -> (Cell, Option<usize>) {
    // Numbers and words are too short for a call to memchr to pay off.
    let near = row.len().min(start + 16);
    let found = row[start..near].iter().position(|b| *b == delimiter).map(|at| start + at);
    let found = found.or_else(|| memchr(delimiter, &row[near..]).map(|at| near + at));
    let end = found.unwrap_or(row.len());
    (Cell { start, end, doubled: false }, found.map(|at| at + 1))
}

fn quoted(row: &[u8], start: usize, delimiter: u8) -> Result<(Cell, Option<usize>)> {
    let (mut at, mut doubled) = (start, false);
    loop {
        let quote = memchr(b'"', row.get(at..).unwrap_or_default()).map(|found| at + found);
        let quote = quote.ok_or_else(|| Error::sample("a quote is opened and never closed"))?;
        match row.get(quote + 1) {
            Some(b'"') => (at, doubled) = (quote + 2, true),
            None => return Ok((Cell { start, end: quote, doubled }, None)),
            Some(next) if *next == delimiter => {
                return Ok((Cell { start, end: quote, doubled }, Some(quote + 2)));
            }
            Some(_) => {
                let end =
                    memchr2(delimiter, b'\n', &row[quote + 1..]).map_or(row.len(), |found| quote + 1 + found);
                let after = row[quote + 1..end.min(quote + 11)].escape_ascii();
                return Err(Error::sample(format!("`{after}` follows the closing quote of a field")));
            }
        }
    }
}
