//! The header of an `.npy` file: a magic, a version, and a Python dictionary written out.

use super::super::preview::preview;
use infeed_core::{Dtype, Error, Result};

/// What the header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) dtype: Dtype,
    /// Whether the elements' bytes are in the other order than this machine's.
    pub(super) swapped: bool,
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
    /// Where the elements begin.
    pub(super) data_at: usize,
}

/// Reads the header of versions 1 to 3.
pub(super) fn read(bytes: &[u8]) -> Result<Header> {
    if bytes.is_empty() {
        return Err(Error::sample("zero-length array file"));
    }
    let truncated = || Error::sample("NumPy array ends early: the file is truncated in its header");
    if !bytes.starts_with(b"\x93NUMPY") {
        let zip = if bytes.starts_with(b"PK") { "; it looks like an .npz archive" } else { "" };
        return Err(Error::sample(format!("not a NumPy array: it starts with {}{zip}", preview(bytes))));
    }
    let version = *bytes.get(6).ok_or_else(truncated)?;
    let (text_at, len) = match version {
        1 => {
            let &[a, b] = bytes.get(8..10).and_then(|b| b.first_chunk()).ok_or_else(truncated)?;
            (10, usize::from(u16::from_le_bytes([a, b])))
        }
        2 | 3 => {
            let len: &[u8; 4] = bytes.get(8..12).and_then(|b| b.first_chunk()).ok_or_else(truncated)?;
            (12, u32::from_le_bytes(*len) as usize)
        }
        other => return Err(Error::sample(format!("NumPy array of the unknown version {other}"))),
    };
    let text = bytes.get(text_at..).and_then(|b| b.get(..len)).ok_or_else(truncated)?;
    let mut found = Literal { rest: text }.header().ok_or_else(|| {
        Error::sample(format!("NumPy array with a header that cannot be read: {}", preview(text)))
    })??;
    found.data_at = text_at + len;
    Ok(found)
}

/// What is left of the dictionary. Its methods give `None` where the text is not what it should be.
struct Literal<'a> {
    rest: &'a [u8],
}

impl<'a> Literal<'a> {
    fn header(&mut self) -> Option<Result<Header>> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key {
                b"descr" if self.peek() != Some(b'\'') && self.peek() != Some(b'"') => {
                    return Some(Err(Error::sample(
                        "NumPy array of records (a structured dtype): save each of its fields as an array of its own",
                    )));
                }
                b"descr" => descr = Some(self.string()?),
                b"fortran_order" => fortran = Some(self.boolean()?),
                b"shape" => shape = Some(self.tuple()?),
                _ => return None,
            }
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        let (descr, fortran, shape) = (descr?, fortran?, shape?);
        Some(element(descr).map(|(dtype, swapped)| Header { dtype, swapped, fortran, shape, data_at: 0 }))
    }

    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let quote = self.peek().filter(|q| matches!(q, b'\'' | b'"'))?;
        let inner = &self.rest[1..];
        let end = inner.iter().position(|b| *b == quote)?;
        self.rest = &inner[end + 1..];
        Some(&inner[..end])
    }

    fn boolean(&mut self) -> Option<bool> {
        self.peek()?;
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(value);
            }
        }
        None
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        let mut out = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            self.peek()?;
            let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let (number, rest) = self.rest.split_at(digits);
            out.push(std::str::from_utf8(number).ok()?.parse().ok()?);
            // Python 2 wrote long integers with an L.
            self.rest = rest.strip_prefix(b"L").unwrap_or(rest);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Some(out)
    }
}

/// Element type, and whether its bytes must be swapped.
fn element(descr: &[u8]) -> Result<(Dtype, bool)> {
    let (order, code) = match descr {
        [order @ (b'<' | b'>' | b'|' | b'='), code @ ..] => (*order, code),
        code => (b'=', code),
    };
    let dtype = match code {
        b"b1" | b"?" => Dtype::Bool,
        b"u1" => Dtype::U8,
        b"i1" => Dtype::I8,
        b"u2" => Dtype::U16,
        b"i2" => Dtype::I16,
        b"u4" => Dtype::U32,
        b"i4" => Dtype::I32,
        b"u8" => Dtype::U64,
        b"i8" => Dtype::I64,
        b"f2" => Dtype::F16,
        b"f4" => Dtype::F32,
        b"f8" => Dtype::F64,
        // NumPy has no bfloat16. What ml_dtypes' bfloat16 is saved as differs from two bytes of nothing (`|V2`) by
        // having a byte order.
        b"V2" if order == b'<' => Dtype::Bf16,
        _ => return Err(foreign(descr, code)),
    };
    let native = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    let swapped = dtype.size() > 1 && matches!(order, b'<' | b'>') && order != native;
    Ok((dtype, swapped))
}

fn foreign(descr: &[u8], code: &[u8]) -> Error {
    let why = match code.first() {
        Some(b'O') => "Python objects: reading them would run code from the file; save it with a plain dtype",
        Some(b'c') => "complex numbers: save the real and the imaginary part as two arrays",
        Some(b'U' | b'S' | b'a') => "text: save it as a .txt or .json field",
        Some(b'M' | b'm') => "dates or durations: save it as int64",
        Some(b'V') => "raw records: save it with a plain dtype",
        Some(b'f') => "floats of an odd size: save it as float32 or float64",
        _ => "an element type that is not supported",
    };
    Error::sample(format!("NumPy array of dtype {}: {why}", preview(descr)))
}
