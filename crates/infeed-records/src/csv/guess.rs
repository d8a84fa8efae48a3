//! Infers delimiters and column types, and parses numbers.

use super::{RowFinder, cells};
use crate::{Guess, split::Split};
use infeed_core::{Dtype, Error, Result};

/// Detects the delimiter from the first rows: among `,`, tab, `;` and `|` the one that divides all rows into the same
/// number of fields, and into the most.
pub fn delimiter(start: &[u8]) -> u8 {
    let start = crate::text::unmarked(start);
    let best = [b',', b'\t', b';', b'|'].into_iter().enumerate().max_by_key(|(place, delimiter)| {
        let mut ends = vec![];
        // The input is cut off somewhere, so an unclosed quote at the end means nothing.
        let _ = RowFinder::new(*delimiter).split(start, false, &mut ends);
        if ends.is_empty() {
            ends.push(crate::split::End { at: start.len(), lines: 1 });
        }
        let (mut from, mut found, mut counts) = (0, vec![], vec![]);
        for end in ends.iter().take(20) {
            let row = crate::text::line(&start[from..end.at]);
            from = end.at;
            counts.push(cells(row.trim_ascii_start(), *delimiter, &mut found).map_or(0, |()| found.len()));
        }
        let first = counts.first().copied().unwrap_or(0);
        let even = first > 1 && counts.iter().all(|count| *count == first);
        // Among equals, the most common one.
        (even, first, usize::MAX - place)
    });
    best.map_or(b',', |(_, delimiter)| delimiter)
}

/// Infers the type of a field.
pub fn guess(cell: &[u8]) -> Guess {
    if cell.is_empty() {
        return Guess::Unknown;
    }
    if boolean(cell).is_some() {
        return Guess::Bool;
    }
    // Postal codes and the like have leading zeros and are text.
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let padded = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
    match std::str::from_utf8(cell) {
        Ok(_) if padded => Guess::Text,
        Ok(text) if text.parse::<i64>().is_ok() => Guess::Int,
        Ok(text) if number(text).is_some() => Guess::Float,
        _ => Guess::Text,
    }
}

fn boolean(cell: &[u8]) -> Option<bool> {
    match cell {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// Parses a number; `inf` and `nan` are numbers, `infinity` is a word.
fn number(text: &str) -> Option<f64> {
    let word = text.trim_start_matches(['+', '-']);
    if word.len() > 3 && word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    text.parse().ok()
}

/// Writes a field as a number of this dtype to `out`, which must have the right size. Returns `false` if the field is
/// empty; for floats an empty field is NaN.
pub fn write(cell: &[u8], dtype: Dtype, out: &mut [u8]) -> Result<bool> {
    let cell = cell.trim_ascii();
    if cell.is_empty() && !dtype.is_float() {
        return Ok(false);
    }
    let wrong =
        || Error::sample(format!("expected {dtype}, found `{}`", cell[..cell.len().min(40)].escape_ascii()));
    let text = std::str::from_utf8(cell).map_err(|_| wrong())?;
    macro_rules! whole {
        ($($dtype:ident $type:ty),*) => {
            match dtype {
                $(Dtype::$dtype => out.copy_from_slice(&text.parse::<$type>().map_err(|_| wrong())?.to_ne_bytes()),)*
                Dtype::Bool => {
                    let yes = boolean(cell).or(match cell { b"1" => Some(true), b"0" => Some(false), _ => None });
                    out.copy_from_slice(&[u8::from(yes.ok_or_else(wrong)?)]);
                }
                Dtype::F32 => {
                    // Parsed directly: going through f64 would round twice.
                    let x = if cell.is_empty() { f32::NAN } else { text.parse().map_err(|_| wrong())? };
                    out.copy_from_slice(&x.to_ne_bytes());
                }
                Dtype::F16 | Dtype::Bf16 | Dtype::F64 => {
                    let x = if cell.is_empty() { f64::NAN } else { number(text).ok_or_else(wrong)? };
                    match dtype {
                        Dtype::F64 => out.copy_from_slice(&x.to_ne_bytes()),
                        Dtype::F16 => out.copy_from_slice(&half::f16::from_f64(x).to_ne_bytes()),
                        _ => out.copy_from_slice(&half::bf16::from_f64(x).to_ne_bytes()),
                    }
                }
            }
        };
    }
    whole!(U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64);
    Ok(true)
}

/// Parses a field as a number of this dtype; `None` if the field is empty.
pub fn parse(cell: &[u8], dtype: Dtype) -> Result<Option<Vec<u8>>> {
    let mut out = vec![0; dtype.size()];
    Ok(write(cell, dtype, &mut out)?.then_some(out))
}
