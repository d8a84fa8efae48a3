//! Scans one row.

use super::marks;
use infeed_core::{Error, Result};
use std::borrow::Cow;

/// A value as written in the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raw<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, not validated.
    Number(&'a [u8]),
    /// The contents between quotes, and whether they contain a backslash.
    Text(&'a [u8], bool),
    /// A list with its brackets.
    Array(&'a [u8]),
    /// An object with its braces.
    Object(&'a [u8]),
}

/// Why a row is not a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It ends too early.
    Ends,
    /// Something else was expected at this byte.
    Wrong(usize, &'static str),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::sample(match fault {
            Fault::Ends => "JSON ends in the middle".to_owned(),
            Fault::Wrong(at, what) => format!("not JSON: {what} expected at byte {at} of the line"),
        })
    }
}

/// Deepest nesting of skipped values.
pub(super) const DEEPEST: u32 = 100;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks bytes of a word that equal `byte`. The lowest mark is correct; those above it may not be.
#[inline(always)]
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    let x = word ^ (ONES * u64::from(byte));
    x.wrapping_sub(ONES) & !x & HIGHS
}

#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|b| u64::from_le_bytes(*b))
}

/// The row and the current position.
#[derive(Debug, Clone)]
pub(super) struct Scan<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Scan { bytes, at: 0 }
    }

    /// Returns the next byte that is not whitespace.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Result<u8, Fault> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(other) => return Ok(*other),
                None => return Err(Fault::Ends),
            }
        }
    }

    /// Consumes a required byte.
    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Fault> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(Fault::Wrong(self.at, what))
        }
    }

    /// Parses the quoted text that begins here.
    #[inline(always)]
    pub(super) fn text(&mut self) -> Result<(&'a [u8], bool), Fault> {
        let start = self.at + 1;
        let (end, escaped) = text_end(self.bytes, start)?;
        self.at = end + 1;
        Ok((&self.bytes[start..end], escaped))
    }

    /// Parses the value that begins here.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Result<Raw<'a>, Fault> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => self.text().map(|(raw, escaped)| Raw::Text(raw, escaped)),
            b'{' | b'[' => {
                self.at = nested_end(self.bytes, start)?;
                let whole = &self.bytes[start..self.at];
                Ok(if first == b'{' { Raw::Object(whole) } else { Raw::Array(whole) })
            }
            b'-' | b'0'..=b'9' => {
                let of_number = |b: &&u8| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
                self.at += self.bytes[start..].iter().take_while(of_number).count();
                Ok(Raw::Number(&self.bytes[start..self.at]))
            }
            b't' => self.word(b"true", Raw::Bool(true)),
            b'f' => self.word(b"false", Raw::Bool(false)),
            b'n' => self.word(b"null", Raw::Null),
            _ => Err(Fault::Wrong(start, "a value")),
        }
    }

    fn word(&mut self, word: &'static [u8], raw: Raw<'a>) -> Result<Raw<'a>, Fault> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(raw)
        } else if word.starts_with(rest) {
            Err(Fault::Ends)
        } else {
            Err(Fault::Wrong(self.at, "a value"))
        }
    }

    /// Checks that only whitespace follows.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Err(_) => Ok(()),
            Ok(_) => Err(Fault::Wrong(self.at, "the end of the line")),
        }
    }
}

/// Returns where the text that starts here ends, and whether it contains a backslash.
#[inline(always)]
fn text_end(bytes: &[u8], start: usize) -> Result<(usize, bool), Fault> {
    // Keys and most values are shorter than two words.
    let mut at = start;
    while let Some(word) = word(bytes, at).filter(|_| at < start + 16) {
        let marks = equal(word, b'"') | equal(word, b'\\');
        if marks != 0 {
            at += marks.trailing_zeros() as usize / 8;
            if bytes[at] == b'"' {
                return Ok((at, false));
            }
            break;
        }
        at += 8;
    }
    long_text_end(bytes, at)
}

/// Like [`text_end`], for a text that is long or has a backslash. Nothing before `at` is special.
fn long_text_end(bytes: &[u8], mut at: usize) -> Result<(usize, bool), Fault> {
    let (mut any, mut carry) = (0, 0);
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let (quotes, backslashes) = (marks::equal(block, b'"'), marks::equal(block, b'\\'));
        let hidden = marks::escaped(backslashes, &mut carry);
        let ends = quotes & !hidden;
        if ends != 0 {
            let end = ends.trailing_zeros();
            any |= backslashes & ((1 << end) - 1);
            return Ok((at + end as usize, any != 0));
        }
        any |= backslashes;
        at += marks::WIDTH;
    }
    // The end of the row: byte by byte.
    at += carry as usize;
    let mut escaped = any != 0;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok((at, escaped)),
            Some(b'\\') => (at, escaped) = (at + 2, true),
            Some(_) => at += 1,
            None => return Err(Fault::Ends),
        }
    }
}

/// Returns where the list or object that begins here ends.
fn nested_end(bytes: &[u8], start: usize) -> Result<usize, Fault> {
    let (mut at, mut depth, mut braces) = (start, 0u32, 0u128);
    loop {
        // Skip digits, commas and the like, eight at a time. `|0x20` maps brackets to braces.
        while let Some(word) = word(bytes, at) {
            let folded = word | (ONES * 0x20);
            let marks = equal(word, b'"') | equal(folded, b'{') | equal(folded, b'}');
            if marks != 0 {
                at += marks.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        let byte = *bytes.get(at).ok_or(Fault::Ends)?;
        at += 1;
        match byte {
            b'"' => at = text_end(bytes, at)?.0 + 1,
            b'{' | b'[' => {
                if depth == DEEPEST {
                    return Err(Fault::Wrong(at - 1, "nesting of at most 100 levels"));
                }
                braces = (braces << 1) | u128::from(byte == b'{');
                depth += 1;
            }
            b'}' | b']' => {
                if (braces & 1 == 1) != (byte == b'}') {
                    return Err(Fault::Wrong(at - 1, if byte == b'}' { "`]`" } else { "`}`" }));
                }
                braces >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Ok(at);
                }
            }
            _ => {}
        }
    }
}

/// Calls `each` with every key of a row and its value.
pub fn keys<'a>(line: &'a [u8], mut each: impl FnMut(Cow<'a, str>, Raw<'a>)) -> Result<()> {
    let mut scan = Scan::new(line);
    scan.expect(b'{', "`{`")?;
    if scan.peek()? == b'}' {
        scan.at += 1;
        return Ok(scan.end()?);
    }
    loop {
        if scan.peek()? != b'"' {
            return Err(Fault::Wrong(scan.at, "a key").into());
        }
        let (key, escaped) = scan.text()?;
        let key = super::value::text(key, escaped)?;
        scan.expect(b':', "`:`")?;
        each(key, scan.value()?);
        match scan.peek()? {
            b',' => scan.at += 1,
            b'}' => {
                scan.at += 1;
                return Ok(scan.end()?);
            }
            _ => return Err(Fault::Wrong(scan.at, "`,` or `}`").into()),
        }
    }
}
