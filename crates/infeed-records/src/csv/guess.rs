//! What columns are, and numbers of their fields.

use super::{RowFinder, cells};
use crate::{Guess, split::Split};
use infeed_core::{Dtype, Error, Result};

/// What separates fields, by the first rows: of `,`, tab, `;` and `|` the one that cuts all rows into the same number of
/// fields, and into most.
pub fn delimiter(start: &[u8]) -> u8 {
    let start = crate::text::unmarked(start);
    let best = [b',', b'\t', b';', b'|'].into_iter().enumerate().max_by_key(|(place, delimiter)| {
        let mut ends = vec![];
        // The rows are cut off somewhere: a quote that is open there says nothing.
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
        // Of two that do equally well the usual one.
        (even, first, usize::MAX - place)
    });
    best.map_or(b',', |(_, delimiter)| delimiter)
}

/// What a field is.
pub fn guess(cell: &[u8]) -> Guess {
    if cell.is_empty() {
        return Guess::Unknown;
    }
    if boolean(cell).is_some() {
        return Guess::Bool;
    }
    // A leading zero is not a number's: postal codes and the like are text.
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

/// A number; `inf` and `nan` are numbers, `infinity` is a word.
fn number(text: &str) -> Option<f64> {
    let word = text.trim_start_matches(['+', '-']);
    if word.len() > 3 && word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    text.parse().ok()
}

/// Writes a field as a number of this type to `out`, which has the right size. `false` when there is nothing in the field;
/// for floats that is a NaN.
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
                    // Straight from the text: by way of eight bytes it would be rounded twice.
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

/// A field as a number of this type; nothing when there is nothing in the field.
pub fn parse(cell: &[u8], dtype: Dtype) -> Result<Option<Vec<u8>>> {
    let mut out = vec![0; dtype.size()];
    Ok(write(cell, dtype, &mut out)?.then_some(out))
}
