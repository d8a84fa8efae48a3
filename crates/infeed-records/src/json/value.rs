//! Converts raw values to fields.

use super::{
    limits::check_limits,
    marks,
    number::{elements, float, floats, int, ints},
    scan::Raw,
};
use crate::Guess;
use infeed_core::{Bytes, Dtype, Error, Result, Tensor, Value};
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Infers the type of a value.
pub fn guess(raw: &Raw<'_>) -> Guess {
    match raw {
        Raw::Null => Guess::Unknown,
        Raw::Bool(_) => Guess::Bool,
        Raw::Text(..) => Guess::Text,
        Raw::Object(_) => Guess::Json,
        Raw::Number(bytes) => {
            if int(bytes).is_some() {
                Guess::Int
            } else {
                Guess::Float
            }
        }
        Raw::Array(list) => {
            let mut all = Guess::Empty;
            for element in elements(list) {
                let one = match element {
                    b"true" | b"false" => Guess::Bools,
                    number if int(number).is_some() => Guess::Ints,
                    number if float(number).is_some() => Guess::Floats,
                    _ => Guess::Json,
                };
                all = all.join(one);
                if all == Guess::Json {
                    break;
                }
            }
            all
        }
    }
}

/// Makes a field of the type found in the first rows. `null` is a missing field.
pub fn value(raw: &Raw<'_>, kind: Guess) -> Result<Value> {
    let differs =
        || Error::sample(format!("expected {}, as in the first rows, found {}", kind.what(), show(raw)));
    let list = |dtype: Dtype, data: Vec<u8>| {
        Ok(Value::Tensor(Tensor { dtype, shape: vec![data.len() / dtype.size()], data: data.into() }))
    };
    match (raw, kind) {
        (Raw::Null, _) => Ok(Value::Missing),
        (Raw::Text(raw, escaped), Guess::Text) => Ok(Value::Text(text(raw, *escaped)?.into_owned())),
        (Raw::Bool(yes), Guess::Bool) => Ok(Value::Tensor(Tensor {
            dtype: Dtype::Bool,
            shape: vec![],
            data: Bytes::from_static(if *yes { &[1] } else { &[0] }),
        })),
        (Raw::Number(bytes), Guess::Int) => {
            int(bytes).map(|n| Value::Tensor(Tensor::int(n))).ok_or_else(differs)
        }
        (Raw::Number(bytes), Guess::Float) => {
            float(bytes).map(|x| Value::Tensor(Tensor::float(x))).ok_or_else(differs)
        }
        (Raw::Array(bytes), Guess::Ints) => list(Dtype::I64, ints(bytes).ok_or_else(differs)?),
        (Raw::Array(bytes), Guess::Floats) => list(Dtype::F64, floats(bytes).ok_or_else(differs)?),
        (Raw::Array(bytes), Guess::Bools) => {
            let one = |element: &[u8]| match element {
                b"true" => Some(1),
                b"false" => Some(0),
                _ => None,
            };
            list(Dtype::Bool, elements(bytes).map(one).collect::<Option<_>>().ok_or_else(differs)?)
        }
        (raw, Guess::Json | Guess::Unknown | Guess::Empty) => json(raw),
        _ => Err(differs()),
    }
}

/// Returns a value as JSON text, validated.
fn json(raw: &Raw<'_>) -> Result<Value> {
    let quoted;
    let bytes = match raw {
        Raw::Null => b"null".as_slice(),
        Raw::Bool(yes) => {
            if *yes {
                &b"true"[..]
            } else {
                b"false"
            }
        }
        Raw::Number(bytes) | Raw::Array(bytes) | Raw::Object(bytes) => bytes,
        Raw::Text(text, _) => {
            quoted = [b"\"", *text, b"\""].concat();
            &quoted
        }
    };
    serde_json::from_slice::<IgnoredAny>(bytes).map_err(|e| Error::sample(format!("not JSON: {e}")))?;
    let text = std::str::from_utf8(bytes).map_err(|e| crate::text::not_text(bytes, e.valid_up_to()))?;
    check_limits(text)?;
    Ok(Value::Json(text.to_owned()))
}

/// Returns the start of a value, for messages.
fn show(raw: &Raw<'_>) -> String {
    let bytes = match raw {
        Raw::Null => b"null".as_slice(),
        Raw::Bool(_) => return "true or false".to_owned(),
        Raw::Number(bytes) => return format!("the number {}", bytes.escape_ascii()),
        Raw::Text(..) => return "text".to_owned(),
        Raw::Array(bytes) | Raw::Object(bytes) => bytes,
    };
    let more = if bytes.len() > 20 { "..." } else { "" };
    format!("`{}{more}`", bytes[..bytes.len().min(20)].escape_ascii())
}

/// Decodes the text between quotes.
pub(super) fn text(raw: &[u8], escaped: bool) -> Result<Cow<'_, str>> {
    // Vectorised and branch-free, because it examines every byte of every text.
    if raw.iter().fold(false, |found, byte| found | (*byte < b' ')) {
        return Err(Error::sample("not JSON: a control character inside a text must be written as \\u00XX"));
    }
    if escaped {
        // Escapes are ASCII, so invalid UTF-8 stays invalid: one check is enough.
        let said = String::from_utf8(unescape(raw)?);
        return said.map(Cow::Owned).map_err(|_| not_utf8(raw));
    }
    std::str::from_utf8(raw).map(Cow::Borrowed).map_err(|_| not_utf8(raw))
}

fn not_utf8(raw: &[u8]) -> Error {
    let valid = std::str::from_utf8(raw).map_or_else(|e| e.valid_up_to(), str::len);
    crate::text::not_text(raw, valid)
}

/// The character for each letter after a backslash; 0 for letters that need more work.
const PLAIN: [u8; 256] = {
    let mut plain = [0; 256];
    let pairs = [b"n\n", b"t\t", b"r\r", b"\"\"", b"\\\\", b"//", b"b\x08", b"f\x0c"];
    let mut at = 0;
    while at < pairs.len() {
        plain[pairs[at][0] as usize] = pairs[at][1];
        at += 1;
    }
    plain
};

/// Unescapes a text. Source code has an escape every few bytes, so the text between escapes is copied in fixed-size
/// pieces that overrun its end, without a call for each.
fn unescape(raw: &[u8]) -> Result<Vec<u8>> {
    /// A block, plus a piece that may begin at its end.
    const AHEAD: usize = 2 * marks::WIDTH;
    // An escape is longer than its result.
    let mut out = vec![0; raw.len() + AHEAD];
    let (mut from, mut to) = (0, 0);
    while let Some(ahead) = raw.get(from..).and_then(|rest| rest.first_chunk::<AHEAD>())
        && let Some(room) = out.get_mut(to..).and_then(|rest| rest.first_chunk_mut::<AHEAD>())
    {
        let (Some(block), Some(first)) = (ahead.first_chunk(), room.first_chunk_mut::<{ marks::WIDTH }>())
        else {
            break;
        };
        let mut backslashes = marks::equal(block, b'\\');
        *first = *block;
        // Positions in the block and in the output.
        let (mut at, mut put) = (0, 0);
        while backslashes != 0 {
            let next = backslashes.trailing_zeros() as usize;
            put += next - at;
            let (written, len) = escape(&raw[from + next..], &mut room[put..])?;
            (at, put) = (next + len, put + written);
            if at >= marks::WIDTH {
                break;
            }
            backslashes &= u64::MAX << at;
            room[put..put + marks::WIDTH].copy_from_slice(&ahead[at..at + marks::WIDTH]);
        }
        put += marks::WIDTH.saturating_sub(at);
        (from, to) = (from + at.max(marks::WIDTH), to + put);
    }
    while from < raw.len() {
        if raw[from] == b'\\' {
            let (written, len) = escape(&raw[from..], &mut out[to..])?;
            (from, to) = (from + len, to + written);
        } else {
            out[to] = raw[from];
            (from, to) = (from + 1, to + 1);
        }
    }
    out.truncate(to);
    Ok(out)
}

/// Writes the result of the escape that begins here; returns the length of the result and of the escape.
#[inline(always)]
fn escape(raw: &[u8], out: &mut [u8]) -> Result<(usize, usize)> {
    let letter = raw.get(1).copied().unwrap_or(0);
    match PLAIN[usize::from(letter)] {
        0 if letter == b'u' => {
            let (c, len) = unicode(raw)?;
            Ok((c.encode_utf8(out).len(), len))
        }
        0 => Err(Error::sample("not JSON: an unknown escape in a text")),
        plain => {
            out[0] = plain;
            Ok((1, 2))
        }
    }
}

/// Parses the character of `\uXXXX` or of a surrogate pair, and returns the length of the escape.
fn unicode(bytes: &[u8]) -> Result<(char, usize)> {
    let wrong = || Error::sample("not JSON: \\u needs four hexadecimal digits, and surrogates come in pairs");
    let unit = |at: usize| -> Option<u32> {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |sum, d| Some(sum * 16 + char::from(*d).to_digit(16)?))
    };
    match unit(0).ok_or_else(wrong)? {
        high @ 0xd800..=0xdbff => {
            let low = unit(6).filter(|low| (0xdc00..=0xdfff).contains(low)).ok_or_else(wrong)?;
            let c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            Ok((char::from_u32(c).ok_or_else(wrong)?, 12))
        }
        c => Ok((char::from_u32(c).ok_or_else(wrong)?, 6)),
    }
}
