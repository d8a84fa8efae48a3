//! Headers of `.npy` files.

use infeed_core::{Dtype, Error, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// What the header of a `.npy` file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Element type; elements are little-endian.
    pub dtype: Dtype,
    /// Shape.
    pub shape: Vec<u64>,
    /// Whether the first dimension runs fastest.
    pub fortran: bool,
    /// Where the elements begin.
    pub data_at: usize,
}

impl Header {
    /// Reads the header and checks that the file has all elements that it speaks of. `len` is the size of the whole
    /// file, of which `bytes` are the first.
    pub fn parse(bytes: &[u8], len: u64, name: &str) -> Result<Header> {
        let wrong =
            |at: usize, what: String| Error::Format { shard: name.to_owned(), offset: at as u64, what };
        let short = || wrong(bytes.len(), "the file ends inside its header".to_owned());
        if !bytes.starts_with(MAGIC) {
            return Err(wrong(0, "it does not begin as a .npy file does".to_owned()));
        }
        let (text_at, text_len) = match bytes.get(6).ok_or_else(short)? {
            1 => {
                (10, bytes.get(8..10).and_then(|b| b.first_chunk()).map(|b| u16::from_le_bytes(*b) as usize))
            }
            2 | 3 => {
                (12, bytes.get(8..12).and_then(|b| b.first_chunk()).map(|b| u32::from_le_bytes(*b) as usize))
            }
            other => return Err(wrong(6, format!("version {other} of .npy; 1 to 3 are known"))),
        };
        let data_at = text_len.and_then(|n| n.checked_add(text_at)).ok_or_else(short)?;
        let text = bytes.get(text_at..data_at).ok_or_else(short)?;
        let text =
            std::str::from_utf8(text).map_err(|_| wrong(text_at, "its header is no text".to_owned()))?;
        let odd = |what: &str| {
            wrong(text_at, format!("its header has no {what} that can be read: {}", text.trim()))
        };
        let descr = after(text, "descr").and_then(quoted).ok_or_else(|| odd("element type"))?;
        let dtype = dtype(descr).ok_or_else(|| {
            wrong(text_at, format!("elements of type `{descr}`: only little-endian numbers can be read"))
        })?;
        let fortran = match after(text, "fortran_order") {
            Some(rest) if rest.starts_with("False") => false,
            Some(rest) if rest.starts_with("True") => true,
            _ => return Err(odd("order")),
        };
        let shape = after(text, "shape").and_then(tuple).ok_or_else(|| odd("shape"))?;
        let needs = shape
            .iter()
            .try_fold(dtype.size() as u64, |n, d| n.checked_mul(*d))
            .and_then(|n| n.checked_add(data_at as u64));
        if needs.is_none_or(|needs| needs > len) {
            let needs = needs.map_or("more than any file has".to_owned(), |n| format!("{n} bytes"));
            let what = format!(
                "an array of shape {shape:?} takes {needs}, and the file has {len}: it was cut short"
            );
            return Err(wrong(len as usize, what));
        }
        Ok(Header { dtype, shape, fortran, data_at })
    }

    /// The header as NumPy writes it, for elements in C order.
    pub fn write(dtype: Dtype, shape: &[u64]) -> Vec<u8> {
        let kind = if dtype.is_float() {
            'f'
        } else if dtype == Dtype::Bool {
            'b'
        } else if crate::element::is_signed(dtype) {
            'i'
        } else {
            'u'
        };
        let order = if dtype.size() == 1 { '|' } else { '<' };
        let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
        let dims = if dims.len() == 1 { format!("{},", dims[0]) } else { dims.join(", ") };
        let text = format!(
            "{{'descr': '{order}{kind}{}', 'fortran_order': False, 'shape': ({dims}), }}",
            dtype.size()
        );
        // NumPy pads to 64 bytes, and ends the header with a line break.
        let len = (10 + text.len() + 1).next_multiple_of(64) - 10;
        let mut out = Vec::from(MAGIC);
        out.extend([1, 0]);
        out.extend((len as u16).to_le_bytes());
        out.extend(format!("{text:<width$}\n", width = len - 1).bytes());
        out
    }
}

/// What follows `'key':`.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    for quote in ['\'', '"'] {
        if let Some((_, rest)) = text.split_once(&format!("{quote}{key}{quote}")) {
            return rest.trim_start().strip_prefix(':').map(str::trim_start);
        }
    }
    None
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote).map(|(inside, _)| inside)
}

fn tuple(text: &str) -> Option<Vec<u64>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
    // Python 2 wrote long numbers with an L.
    parts.map(|part| part.strip_suffix('L').unwrap_or(part).parse().ok()).collect()
}

fn dtype(descr: &str) -> Option<Dtype> {
    let (order, rest) = descr.split_at_checked(1)?;
    let found = match rest {
        "u1" => Dtype::U8,
        "i1" => Dtype::I8,
        "u2" => Dtype::U16,
        "i2" => Dtype::I16,
        "u4" => Dtype::U32,
        "i4" => Dtype::I32,
        "u8" => Dtype::U64,
        "i8" => Dtype::I64,
        "f2" => Dtype::F16,
        "f4" => Dtype::F32,
        "f8" => Dtype::F64,
        "b1" => Dtype::Bool,
        _ => return None,
    };
    (order == "<" || matches!(order, "|" | "=") && (found.size() == 1 || order == "=")).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of `np.save` of `np.arange(3, dtype=np.uint16)`, by NumPy 2.4.
    fn saved() -> Vec<u8> {
        let text = "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }";
        [b"\x93NUMPY\x01\x00v\x00", text.as_bytes(), &[b' '; 60], b"\n"].concat()
    }

    #[test]
    fn headers_are_those_of_numpy() {
        let saved = saved();
        assert_eq!(Header::write(Dtype::U16, &[3]), saved);
        let header = Header::parse(&saved, 134, "x").unwrap();
        assert_eq!(header, Header { dtype: Dtype::U16, shape: vec![3], fortran: false, data_at: 128 });
        let two = Header::write(Dtype::I64, &[5, 2]);
        assert_eq!(Header::parse(&two, 1 << 20, "x").unwrap().shape, [5, 2]);
        assert_eq!(Header::parse(&Header::write(Dtype::U8, &[]), 1 << 20, "x").unwrap().shape, [0u64; 0]);
    }

    #[test]
    fn other_versions_and_damage() {
        let text = "{\"descr\": \"|u1\", 'fortran_order': True, 'shape': (2L, 1L)}";
        let mut two = b"\x93NUMPY\x02\x00".to_vec();
        two.extend((text.len() as u32).to_le_bytes());
        two.extend(text.bytes());
        let header = Header::parse(&two, 200, "x").unwrap();
        assert_eq!((header.dtype, header.shape, header.fortran), (Dtype::U8, vec![2, 1], true));
        let fails = |bytes: &[u8], len| Header::parse(bytes, len, "x.npy").unwrap_err().to_string();
        let saved = saved();
        assert!(fails(&saved, 133).contains("cut short"));
        assert!(fails(&saved[..60], 60).contains("inside its header"));
        assert!(fails(b"\x93NUMPY\x04\x00", 8).contains("version 4"));
        assert!(fails(b"NUMPY", 5).contains("x.npy"));
        let swap = |from: &str, to: &str| {
            let text = String::from_utf8_lossy(&saved[10..]).replace(from, to);
            [&saved[..10], text.as_bytes()].concat()
        };
        assert!(fails(&swap("<u2", ">u2"), 134).contains(">u2"));
        assert!(fails(&swap("(3,)", "(-3)"), 134).contains("shape"));
        let huge = swap("(3,), }            ", "(99999999999999999)");
        assert!(fails(&huge, 134).contains("cut short"));
    }
}
