//! What a file without a header holds, by arguments or by a description beside it.

use infeed_core::{Args, Dtype, Error, Result};
use serde_json::Value;

/// Axes of a row.
const MOST_AXES: usize = 32;

/// The elements of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) dtype: Dtype,
    pub(super) big_endian: bool,
    /// The shape of a row.
    pub(super) row: Vec<u64>,
    /// How many rows there must be, if that was said.
    pub(super) rows: Option<u64>,
    /// Whether the first axis varies fastest.
    pub(super) fortran: bool,
    /// Bytes before the first element.
    pub(super) offset: u64,
}

impl Described {
    /// Reads the arguments; `None` if they leave it to a description.
    pub(super) fn of_args(args: &Args) -> Result<Option<Described>> {
        if args.is_none("dtype") {
            let alone = ["shape", "order", "offset"].into_iter().find(|name| !args.is_none(name));
            return match alone {
                Some(name) => {
                    Err(args.error(name, "goes with dtype=, and not with a description beside the file"))
                }
                None => Ok(None),
            };
        }
        let (dtype, big_endian) = dtype(args.text("dtype")?).map_err(|what| args.error("dtype", &what))?;
        let shape = if args.is_none("shape") { vec![] } else { args.ints("shape", -1)? };
        // All of the shape, or that of a row.
        let shape = if shape.first() == Some(&-1) { shape } else { [&[-1], &shape[..]].concat() };
        let (rows, row) = sides(&shape).map_err(|what| args.error("shape", &what))?;
        let order = if args.is_none("order") { "C" } else { args.text("order")? };
        let fortran = order_of(order).map_err(|what| args.error("order", &what))?;
        let offset = if args.is_none("offset") { 0 } else { args.int("offset", 0)? as u64 };
        Ok(Some(Described { dtype, big_endian, row, rows, fortran, offset }))
    }

    /// Reads a description: `{"dtype": "float32", "shape": [-1, 32, 32, 3], "order": "C", "offset": 0}`.
    pub(super) fn of_json(name: &str, text: &[u8]) -> Result<Described> {
        let wrong = |what: String| Error::argument(format!("`{name}`: {what}"));
        let json: Value = serde_json::from_slice(text).map_err(|e| wrong(format!("this is no JSON: {e}")))?;
        let kind = json.get("dtype").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| wrong("there is no text `dtype`".to_owned()))?;
        let (dtype, big_endian) =
            dtype(kind).map_err(|what| wrong(format!("`dtype` {what}, and it is `{kind}`")))?;
        let shape = match json.get("shape") {
            None => Some(vec![-1]),
            Some(Value::Array(sides)) => sides.iter().map(Value::as_i64).collect(),
            Some(_) => None,
        };
        let shape = shape.ok_or_else(|| wrong("`shape` must be a list of whole numbers".to_owned()))?;
        let (rows, row) =
            sides(&shape).map_err(|what| wrong(format!("`shape` {what}, and it is {shape:?}")))?;
        let order = json.get("order").map_or(Some("C"), Value::as_str).unwrap_or_default();
        let fortran = order_of(order).map_err(|what| wrong(format!("`order` {what}")))?;
        let offset = json.get("offset").map_or(Some(0), Value::as_u64);
        let offset = offset.ok_or_else(|| wrong("`offset` must be a number of bytes".to_owned()))?;
        Ok(Described { dtype, big_endian, row, rows, fortran, offset })
    }

    /// Bytes of a row.
    fn width(&self) -> Option<u64> {
        self.row.iter().try_fold(self.dtype.size() as u64, |all, side| all.checked_mul(*side))
    }

    /// How many rows a file of this size has, which must be a whole number.
    pub(super) fn count(&self, size: u64) -> Result<u64, String> {
        let what = format!("rows of {}{:?}", self.dtype.name(), self.row);
        let Some(width) = self.width().filter(|width| *width > 0) else {
            return Err(format!("{what} have more bytes than can be counted, or none"));
        };
        let Some(bytes) = size.checked_sub(self.offset) else {
            return Err(format!("it has {size} bytes, and rows begin at {}", self.offset));
        };
        let (rows, rest) = (bytes / width, bytes % width);
        match self.rows {
            Some(said) if said != rows || rest != 0 => Err(format!(
                "{said} {what} take {} bytes, and there are {bytes}",
                u128::from(said) * u128::from(width)
            )),
            None if rest != 0 => Err(format!(
                "{what} take {width} bytes each, and there are {bytes}: {rows} rows and {rest} bytes; the file was cut short, or \
                 dtype or shape are others"
            )),
            _ => Ok(rows),
        }
    }
}

fn order_of(order: &str) -> Result<bool, String> {
    match order {
        "C" => Ok(false),
        "F" => Ok(true),
        _ => Err("must be \"C\" or \"F\"".to_owned()),
    }
}

/// The number of rows, if it is said, and the shape of one.
fn sides(shape: &[i64]) -> Result<(Option<u64>, Vec<u64>), String> {
    let Some((first, row)) = shape.split_first() else { return Err("must have an axis for rows".to_owned()) };
    if *first < -1 || row.iter().any(|side| *side < 1) {
        return Err("must have sides of at least 1, and may begin with -1".to_owned());
    }
    if row.len() > MOST_AXES {
        return Err(format!("has more than {MOST_AXES} axes"));
    }
    let all = row.iter().try_fold(1i64, |all, side| all.checked_mul(*side));
    match all {
        Some(_) => Ok((u64::try_from(*first).ok(), row.iter().map(|side| side.unsigned_abs()).collect())),
        None => Err("has more elements than can be counted".to_owned()),
    }
}

/// The type of a name as NumPy, torch and infeed write it, and whether it is big-endian.
fn dtype(name: &str) -> Result<(Dtype, bool), String> {
    let (big, code) = match name.as_bytes() {
        [b'<' | b'|', ..] => (Some(false), &name[1..]),
        [b'>', ..] => (Some(true), &name[1..]),
        [b'=', ..] => (Some(cfg!(target_endian = "big")), &name[1..]),
        _ => (None, name),
    };
    if big.is_none() && matches!(code, "i8" | "u8") {
        let kind = if code == "i8" { "int" } else { "uint" };
        return Err(format!("has 64 bits in NumPy and 8 elsewhere: say \"{kind}8\" or \"{kind}64\""));
    }
    let numpy = match code {
        "?" | "b1" => Some(Dtype::Bool),
        "u1" => Some(Dtype::U8),
        "i1" => Some(Dtype::I8),
        "u2" => Some(Dtype::U16),
        "i2" => Some(Dtype::I16),
        "u4" => Some(Dtype::U32),
        "i4" => Some(Dtype::I32),
        "u8" => Some(Dtype::U64),
        "i8" => Some(Dtype::I64),
        "f2" => Some(Dtype::F16),
        "f4" => Some(Dtype::F32),
        "f8" => Some(Dtype::F64),
        _ => None,
    };
    let long = || if big.is_none() { Dtype::parse(code) } else { None };
    match numpy.or_else(long) {
        Some(dtype) => Ok((dtype, big.unwrap_or(cfg!(target_endian = "big")) && dtype.size() > 1)),
        None => {
            let known: Vec<&str> = Dtype::ALL.iter().map(|dtype| dtype.name()).collect();
            Err(format!("must be one of {}, or a type of NumPy such as float32 or <f4", known.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_many_names() {
        for (name, wanted, big) in [
            ("float32", Dtype::F32, false),
            ("f32", Dtype::F32, false),
            ("<f4", Dtype::F32, false),
            (">f4", Dtype::F32, true),
            ("f4", Dtype::F32, false),
            ("|u1", Dtype::U8, false),
            (">u1", Dtype::U8, false),
            ("?", Dtype::Bool, false),
            ("bool", Dtype::Bool, false),
            ("<i8", Dtype::I64, false),
            ("int8", Dtype::I8, false),
            ("torch.bfloat16", Dtype::Bf16, false),
        ] {
            assert_eq!(dtype(name), Ok((wanted, big)), "{name}");
        }
        for name in ["c8", "<f32", "f16x", "", "<", "O", ">float32"] {
            assert!(dtype(name).unwrap_err().contains("must be one of"), "{name}");
        }
        assert!(dtype("i8").unwrap_err().contains("say \"int8\" or \"int64\""));
        assert!(dtype("u8").unwrap_err().contains("say \"uint8\" or \"uint64\""));
    }

    #[test]
    fn descriptions() {
        let read = |text: &str| Described::of_json("x.json", text.as_bytes()).map_err(|e| e.to_string());
        let found = read(r#"{"dtype": "float32", "shape": [-1, 4, 3], "made": {"by": "us"}}"#).unwrap();
        assert_eq!((found.rows, found.row.as_slice(), found.count(96)), (None, &[4, 3][..], Ok(2)));
        let found = read(r#"{"dtype": ">i2", "shape": [5], "order": "F", "offset": 6}"#).unwrap();
        assert_eq!(
            (found.rows, found.fortran, found.big_endian, found.count(16)),
            (Some(5), true, true, Ok(5))
        );
        for (text, what) in [
            ("{", "no JSON"),
            ("[]", "no text `dtype`"),
            (r#"{"dtype": "f99"}"#, "must be one of"),
            (r#"{"dtype": "f4", "shape": 3}"#, "must be a list"),
            (r#"{"dtype": "f4", "shape": [-1, 0]}"#, "sides of at least 1"),
            (r#"{"dtype": "f4", "shape": [-2]}"#, "may begin with -1"),
            (r#"{"dtype": "f4", "shape": []}"#, "an axis for rows"),
            (r#"{"dtype": "f4", "shape": [-1, 4294967296, 4294967296]}"#, "can be counted"),
            (r#"{"dtype": "f4", "order": "K"}"#, "`order` must be"),
            (r#"{"dtype": "f4", "offset": -1}"#, "`offset` must be"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(what) && error.contains("x.json"), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_that_do_not_fit() {
        let one = Described {
            dtype: Dtype::F32,
            big_endian: false,
            row: vec![3],
            rows: None,
            fortran: false,
            offset: 0,
        };
        assert_eq!(one.count(0), Ok(0));
        let error = one.count(100).unwrap_err();
        assert!(error.contains("take 12 bytes each, and there are 100: 8 rows and 4 bytes"), "{error}");
        let said = Described { rows: Some(9), ..one.clone() };
        assert!(said.count(96).unwrap_err().contains("9 rows of f32[3] take 108 bytes, and there are 96"));
        let behind = Described { offset: 8, ..one.clone() };
        assert!(behind.count(7).unwrap_err().contains("it has 7 bytes, and rows begin at 8"));
        let large = Described { row: vec![1 << 62, 4], ..one };
        assert!(large.count(8).unwrap_err().contains("can be counted"));
    }
}
