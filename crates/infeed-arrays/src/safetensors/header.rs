//! The header of a safetensors file: a length, and JSON that says where tensors are.
//!
//! What the library refuses is refused here, too: tensors lie one behind the other, without holes, from the end of the
//! header to the end of the file.

use infeed_core::Dtype;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use std::{collections::HashSet, fmt, ops::Range};

/// Bytes of a header, as the library has it.
pub(super) const MOST_BYTES: u64 = 100_000_000;
/// Tensors of a file.
const MOST_TENSORS: usize = 1 << 20;
/// Axes of a tensor.
const MOST_AXES: usize = 64;
/// What the header calls what is no tensor.
const METADATA: &str = "__metadata__";

/// What the elements of a tensor are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers that can be read.
    Known(Dtype),
    /// Others, by their name in the file.
    Other(String),
}

/// A tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) shape: Vec<u64>,
    /// Its bytes, counted from the end of the header.
    pub(super) bytes: Range<u64>,
}

/// A tensor as it stands in the header.
#[derive(Deserialize)]
struct Line {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// The tensors of a header, in its order.
struct Lines(Vec<(String, Line)>);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(LinesVisitor)
    }
}

struct LinesVisitor;

impl<'de> Visitor<'de> for LinesVisitor {
    type Value = Lines;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensors by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lines, A::Error> {
        let mut out = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if out.len() == MOST_TENSORS {
                return Err(A::Error::custom(format!("there are more than {MOST_TENSORS} tensors")));
            }
            out.push((name, map.next_value()?));
        }
        Ok(Lines(out))
    }
}

/// The length of the header that the first bytes of a file claim, if a file of `size` bytes can have it.
pub(super) fn length(head: &[u8], size: u64) -> Result<u64, String> {
    let Some(first) = head.first_chunk::<8>() else {
        return Err(format!("this is no safetensors file: it has {size} bytes"));
    };
    let len = u64::from_le_bytes(*first);
    if len > MOST_BYTES {
        let what = format!("a header of {len} bytes: at most {MOST_BYTES} are read");
        return Err(format!("{what}; the file is damaged, or no safetensors file"));
    }
    match len <= size.saturating_sub(8) {
        true => Ok(len),
        false => Err(format!(
            "a header of {len} bytes does not fit into {size}: the file was cut short, or is no safetensors file"
        )),
    }
}

/// Reads the text of a header. `data` is the number of bytes behind it.
pub(super) fn tensors(text: &[u8], data: u64) -> Result<Vec<Tensor>, String> {
    if text.first() != Some(&b'{') {
        return Err(
            "the header does not begin with `{`: the file is damaged, or no safetensors file".to_owned()
        );
    }
    let Lines(lines) = serde_json::from_slice(text).map_err(|e| format!("the header cannot be read: {e}"))?;
    let mut out = Vec::with_capacity(lines.len());
    for (name, line) in lines {
        out.push(tensor(name, line)?);
    }
    let mut names = HashSet::with_capacity(out.len());
    if let Some(twice) = out.iter().find(|tensor| !names.insert(tensor.name.as_str())) {
        return Err(format!("two tensors are called `{}`", twice.name));
    }
    out.sort_by_key(|tensor| (tensor.bytes.start, tensor.bytes.end));
    let mut end = 0;
    for tensor in &out {
        let Tensor { name, bytes, .. } = tensor;
        if bytes.start != end {
            let what = if bytes.start < end { "overlaps the one before" } else { "leaves a hole" };
            return Err(format!("tensor `{name}` {what}: it begins at {}, and not at {end}", bytes.start));
        }
        end = bytes.end;
    }
    match end.cmp(&data) {
        std::cmp::Ordering::Equal => Ok(out),
        std::cmp::Ordering::Greater => Err(format!(
            "tensors take {end} bytes, and there are {data}: the file was cut short; copy it again"
        )),
        std::cmp::Ordering::Less => Err(format!("tensors take {end} bytes, and there are {data}")),
    }
}

fn tensor(name: String, line: Line) -> Result<Tensor, String> {
    let Line { dtype, shape, data_offsets: (start, end) } = line;
    if shape.len() > MOST_AXES {
        return Err(format!("tensor `{name}` has {} axes: at most {MOST_AXES} are read", shape.len()));
    }
    let len = end.checked_sub(start).ok_or_else(|| format!("tensor `{name}` ends before it begins"))?;
    let kind = kind(dtype);
    if let Kind::Known(dtype) = kind {
        let size = dtype.size() as u64;
        // Sides of 0 do not excuse the others: strides are made of them.
        let possible = shape.iter().try_fold(size, |all, side| all.checked_mul((*side).max(1)));
        let needs = possible.map(|_| shape.iter().fold(size, |all, side| all * side));
        if needs != Some(len) {
            let needs = needs.map_or("more than any file has".to_owned(), |n| format!("{n} bytes"));
            let dtype = dtype.name();
            return Err(format!(
                "tensor `{name}`: {dtype} of shape {shape:?} takes {needs}, and it has {len}"
            ));
        }
    }
    Ok(Tensor { name, kind, shape, bytes: start..end })
}

fn kind(name: String) -> Kind {
    Kind::Known(match name.as_str() {
        "BOOL" => Dtype::Bool,
        "U8" => Dtype::U8,
        "I8" => Dtype::I8,
        "U16" => Dtype::U16,
        "I16" => Dtype::I16,
        "U32" => Dtype::U32,
        "I32" => Dtype::I32,
        "U64" => Dtype::U64,
        "I64" => Dtype::I64,
        "F16" => Dtype::F16,
        "BF16" => Dtype::Bf16,
        "F32" => Dtype::F32,
        "F64" => Dtype::F64,
        _ => return Kind::Other(name),
    })
}

/// Reads arbitrary bytes as a file. Panics if something impossible is accepted.
pub fn fuzz_safetensors(data: &[u8]) {
    let size = data.len() as u64;
    let Ok(len) = length(data, size) else { return };
    let (text, rest) = data[8..].split_at(len as usize);
    let Ok(found) = tensors(text, rest.len() as u64) else { return };
    let mut bytes = 0;
    for tensor in &found {
        assert!(tensor.bytes.start <= tensor.bytes.end && tensor.bytes.end <= rest.len() as u64);
        bytes += tensor.bytes.end - tensor.bytes.start;
        if let Kind::Known(dtype) = &tensor.kind {
            let elements: u64 = tensor.shape.iter().product();
            assert_eq!(elements * dtype.size() as u64, tensor.bytes.end - tensor.bytes.start);
        }
    }
    assert_eq!(bytes, rest.len() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, data: u64) -> Result<Vec<Tensor>, String> {
        tensors(text.as_bytes(), data)
    }

    #[test]
    fn tensors_come_in_the_order_of_their_bytes() {
        let text = r#"{"__metadata__": {"format": "pt", "x": {"dtype": 1}},
            "b": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [4, 16]},
            "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
            "e": {"dtype": "I64", "shape": [3, 0], "data_offsets": [16, 16]},
            "f": {"dtype": "F8_E4M3", "shape": [5], "data_offsets": [16, 21]}}   "#;
        let found = read(text, 21).unwrap();
        let names: Vec<&str> = found.iter().map(|tensor| tensor.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "e", "f"]);
        assert_eq!((found[1].shape.as_slice(), found[1].bytes.clone()), (&[2, 3][..], 4..16));
        assert_eq!(found[3].kind, Kind::Other("F8_E4M3".to_owned()));
        assert_eq!(read("{}", 0).unwrap(), []);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let one = |dtype: &str, shape: &str, offsets: &str| {
            format!(r#"{{"x": {{"dtype": "{dtype}", "shape": {shape}, "data_offsets": {offsets}}}}}"#)
        };
        let two = |a: &str, b: &str| {
            let line = |name: &str, offsets: &str| {
                format!(r#""{name}": {{"dtype": "U8", "shape": [4], "data_offsets": {offsets}}}"#)
            };
            format!("{{{}, {}}}", line("x", a), line("y", b))
        };
        for (text, data, what) in [
            (one("F32", "[2]", "[0, 4]"), 4, "f32 of shape [2] takes 8 bytes, and it has 4"),
            (one("F32", "[1]", "[4, 0]"), 4, "ends before it begins"),
            (one("U8", "[4294967296, 4294967296]", "[0, 0]"), 0, "more than any file has"),
            (one("U8", "[4294967296, 4294967296, 0]", "[0, 0]"), 0, "more than any file has"),
            (one("U8", "[-1]", "[0, 1]"), 1, "cannot be read"),
            (one("U8", "[1.5]", "[0, 1]"), 1, "cannot be read"),
            (one("U8", "[4]", "[0, 4, 8]"), 4, "cannot be read"),
            (one("U8", "[4]", "[0, 4]"), 3, "cut short"),
            (one("U8", "[4]", "[0, 4]"), 5, "tensors take 4 bytes, and there are 5"),
            (one("U8", &format!("{:?}", [1; 65]), "[0, 1]"), 1, "has 65 axes"),
            (two("[0, 4]", "[5, 9]"), 9, "`y` leaves a hole: it begins at 5, and not at 4"),
            (two("[0, 4]", "[3, 7]"), 7, "`y` overlaps the one before"),
            (two("[0, 4]", "[4, 8]").replace("\"y\"", "\"x\""), 8, "two tensors are called `x`"),
            ("[1]".to_owned(), 0, "does not begin with `{`"),
            ("{\"x\": 3}".to_owned(), 0, "cannot be read"),
            ("{\"x\": ".to_owned() + &"[".repeat(10_000), 0, "cannot be read"),
            ("{} x".to_owned(), 0, "cannot be read"),
        ] {
            let error = read(&text, data).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn lengths_are_compared_with_the_file() {
        let head = |len: u64| len.to_le_bytes();
        assert_eq!(length(&head(2), 10), Ok(2));
        assert!(length(&head(3), 10).unwrap_err().contains("a header of 3 bytes does not fit into 10"));
        assert!(length(&head(u64::MAX), u64::MAX).unwrap_err().contains("at most 100000000 are read"));
        assert!(length(&[0; 7], 7).unwrap_err().contains("no safetensors file"));
    }
}
