//! NumPy type descriptions: `<f4`, `|u1`, `>i8`.

use crate::preview::preview;
use infeed_core::Dtype;

/// Code of every supported NumPy type.
const CODES: [(&str, Dtype); 12] = [
    ("b1", Dtype::Bool),
    ("u1", Dtype::U8),
    ("i1", Dtype::I8),
    ("u2", Dtype::U16),
    ("i2", Dtype::I16),
    ("u4", Dtype::U32),
    ("i4", Dtype::I32),
    ("u8", Dtype::U64),
    ("i8", Dtype::I64),
    ("f2", Dtype::F16),
    ("f4", Dtype::F32),
    ("f8", Dtype::F64),
];

/// Parses a type description: returns the dtype and whether its elements are big-endian, or an error message.
pub(super) fn parse(descr: Option<&[u8]>) -> Result<(Dtype, bool), String> {
    let Some(descr) = descr else {
        let what =
            "NumPy array of records (a structured dtype): save each of its fields as an array of its own";
        return Err(what.to_owned());
    };
    let (order, code) = match descr {
        [order @ (b'<' | b'>' | b'|' | b'='), code @ ..] => (*order, code),
        code => (b'=', code),
    };
    let known = CODES.iter().find(|(name, _)| name.as_bytes() == code).map(|(_, dtype)| *dtype);
    let dtype = match code {
        b"?" => Dtype::Bool,
        // NumPy has no bfloat16. The bfloat16 of ml_dtypes is saved with a byte order, unlike
        // two bytes of void (`|V2`).
        b"V2" if order == b'<' => Dtype::Bf16,
        _ => known.ok_or_else(|| foreign(descr, code))?,
    };
    let big = match order {
        b'<' => false,
        b'>' => true,
        _ => cfg!(target_endian = "big"),
    };
    Ok((dtype, big && dtype.size() > 1))
}

/// Whether a description is one of bytes that mean nothing, which fill up between the members of a type; and how many.
pub(super) fn filler(descr: &[u8]) -> Option<usize> {
    let count = descr.strip_prefix(b"|V").or_else(|| descr.strip_prefix(b"V"))?;
    std::str::from_utf8(count).ok()?.parse().ok()
}

/// Parses the description of a text: characters, whether they are UCS-4 (`U`) or bytes (`S`), and their byte order.
pub(super) fn text(descr: &[u8]) -> Option<(usize, bool, bool)> {
    let (order, code) = match descr {
        [order @ (b'<' | b'>' | b'|' | b'='), code @ ..] => (*order, code),
        code => (b'=', code),
    };
    let (kind, count) = code.split_first()?;
    let unicode = match kind {
        b'U' => true,
        b'S' | b'a' => false,
        _ => return None,
    };
    let count = std::str::from_utf8(count).ok()?.parse().ok()?;
    let big = order == b'>' || order != b'<' && cfg!(target_endian = "big");
    Some((count, unicode, big && unicode))
}

/// Returns NumPy's description of a dtype with little-endian elements.
pub(super) fn descr(dtype: Dtype) -> String {
    let order = if dtype.size() == 1 { '|' } else { '<' };
    let code = CODES.iter().find(|(_, known)| *known == dtype).map_or("V2", |(code, _)| code);
    format!("{order}{code}")
}

fn foreign(descr: &[u8], code: &[u8]) -> String {
    let why = match code.first() {
        Some(b'O') => "Python objects: reading them would run code from the file; save it with a plain dtype",
        Some(b'c') => "complex numbers: save the real and the imaginary part as two arrays",
        Some(b'U' | b'S' | b'a') => "text: save it as a .txt or .json field",
        Some(b'M' | b'm') => "dates or durations: save it as int64",
        Some(b'V') => "raw records: save it with a plain dtype",
        Some(b'f') => "floats of an odd size: save it as float32 or float64",
        _ => "an element type that is not supported",
    };
    format!("NumPy array of dtype {}: {why}", preview(descr))
}
