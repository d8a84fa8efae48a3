//! Parses the header of an `.npy` file: magic bytes, a version, and a Python dictionary literal.
//!
//! | version | bytes 8 and on | text |
//! |---|---|---|
//! | 1 | u16 length | Latin-1 |
//! | 2 | u32 length | Latin-1 |
//! | 3 | u32 length | UTF-8 |
//!
//! The elements follow the text. All readers of `.npy` files use this parser: the decoder `npy`, token files, the
//! cache files of GPT samples, and format detection.

mod dtype;
mod fuzzing;
mod layout;
mod literal;
#[cfg(test)]
mod tests;

use crate::preview::preview;
use infeed_core::Dtype;

pub use fuzzing::fuzz_npy;
pub use layout::{Element, Layout, Member};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// What every version of NumPy can hold.
const MOST_DIMENSIONS: usize = 32;

/// The contents of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Element type.
    pub dtype: Dtype,
    /// Whether the elements are big-endian; always false for one-byte elements.
    pub big_endian: bool,
    /// Whether the first dimension varies fastest.
    pub fortran: bool,
    /// Lengths of the dimensions; empty for a single number.
    pub shape: Vec<usize>,
    /// Offset of the elements.
    pub data_at: usize,
}

/// Why bytes are not a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Offset of the fault.
    pub at: usize,
    /// The fault, as a sentence for users.
    pub what: String,
}

impl Header {
    /// Parses a header of versions 1 to 3. `bytes` are the file or its beginning. Does not check whether all elements
    /// are present; [`Header::data_len`] returns how many bytes there must be.
    pub fn read(bytes: &[u8]) -> Result<Header, Fault> {
        let (text_at, text) = text(bytes)?;
        let fault = |at: usize, what: String| Fault { at, what };
        let unreadable =
            || fault(text_at, format!("NumPy array with a header that cannot be read: {}", preview(text)));
        let found = literal::read(text).ok_or_else(unreadable)?;
        let (dtype, big_endian) = dtype::parse(found.descr).map_err(|what| fault(text_at, what))?;
        let (fortran, shape) = (found.fortran, found.shape);
        few_dimensions(&shape, text_at)?;
        Ok(Header { dtype, big_endian, fortran, shape, data_at: text_at + text.len() })
    }

    /// Returns the size of all elements in bytes; `None` on overflow. An array without elements overflows, too, if its other
    /// sides do: the product of any of its sides must be a size.
    pub fn data_len(&self) -> Option<usize> {
        let mut sides = self.shape.iter().filter(|side| **side != 0);
        let whole = sides.try_fold(self.dtype.size(), |n, side| n.checked_mul(*side));
        let whole = whole.filter(|n| *n <= isize::MAX as usize)?;
        Some(if self.shape.contains(&0) { 0 } else { whole })
    }

    /// Returns whether the byte order of the elements differs from that of this machine.
    pub fn is_swapped(&self) -> bool {
        self.dtype.size() > 1 && self.big_endian != cfg!(target_endian = "big")
    }

    /// Builds the header as NumPy writes it, for little-endian elements in C order.
    pub fn write(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
        let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
        let dims = if dims.len() == 1 { format!("{},", dims[0]) } else { dims.join(", ") };
        let descr = dtype::descr(dtype);
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
        // NumPy pads to 64 bytes and ends the header with a newline.
        let len = (10 + text.len() + 1).next_multiple_of(64) - 10;
        let mut out = Vec::from(MAGIC);
        out.extend([1, 0]);
        out.extend((len as u16).to_le_bytes());
        out.extend(format!("{text:<width$}\n", width = len - 1).bytes());
        out
    }
}

/// Returns the text of a header and where it begins.
fn text(bytes: &[u8]) -> Result<(usize, &[u8]), Fault> {
    let fault = |at: usize, what: String| Fault { at, what };
    if bytes.is_empty() {
        return Err(fault(0, "zero-length array file".to_owned()));
    }
    if !bytes.starts_with(MAGIC) {
        let zip = if bytes.starts_with(b"PK") { "; it looks like an .npz archive" } else { "" };
        return Err(fault(0, format!("not a NumPy array: it starts with {}{zip}", preview(bytes))));
    }
    let truncated =
        || fault(bytes.len(), "NumPy array ends early: the file is truncated in its header".to_owned());
    let (text_at, len) = match bytes.get(6).ok_or_else(truncated)? {
        1 => {
            let len = bytes.get(8..10).and_then(|b| b.first_chunk()).ok_or_else(truncated)?;
            (10, usize::from(u16::from_le_bytes(*len)))
        }
        2 | 3 => {
            let len = bytes.get(8..12).and_then(|b| b.first_chunk()).ok_or_else(truncated)?;
            (12, u32::from_le_bytes(*len) as usize)
        }
        other => return Err(fault(6, format!("NumPy array of the unknown version {other}"))),
    };
    let text = bytes.get(text_at..).and_then(|b| b.get(..len)).ok_or_else(truncated)?;
    Ok((text_at, text))
}

fn few_dimensions(shape: &[usize], text_at: usize) -> Result<(), Fault> {
    if shape.len() <= MOST_DIMENSIONS {
        return Ok(());
    }
    let what = format!(
        "NumPy array of {} dimensions: at most {MOST_DIMENSIONS} can be read; reshape it",
        shape.len()
    );
    Err(Fault { at: text_at, what })
}
