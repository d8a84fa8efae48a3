//! JSON, as writers of Zarr have it.
//!
//! Numbers are kept as they are written: fill values must come out to the last bit, and integers of 64 bits must not become
//! floats. Python also writes `NaN`, `Infinity` and `-Infinity`, which other parsers refuse; here they are numbers. Depth is bounded.

mod parse;

use crate::error::{Error, Result};
use parse::Parser;
use std::fmt;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Names and values in the order of the text. Of a name that occurs twice, [`Json::get`] gives the last.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text; `depth` is how many lists and maps may be inside each other.
    pub fn parse(text: &[u8], depth: u32) -> Result<Json> {
        let text =
            std::str::from_utf8(text).map_err(|e| Error::damaged(format!("JSON that is no UTF-8: {e}")))?;
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(depth)?;
        parser.space();
        if parser.at != text.len() {
            return Err(parser.wrong("more behind the end"));
        }
        Ok(value)
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Map(pairs) => pairs.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A list.
    pub fn list(&self) -> Option<&[Json]> {
        match self {
            Json::List(list) => Some(list),
            _ => None,
        }
    }

    /// A number that is whole and not negative.
    pub fn count(&self) -> Option<u64> {
        match self {
            Json::Number(number) => number.parse().ok().or_else(|| {
                // Some writers have no integers.
                let float: f64 = number.parse().ok()?;
                ((0.0..9e15).contains(&float) && float.fract() == 0.0).then_some(float as u64)
            }),
            _ => None,
        }
    }

    /// A number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Json::Number(number) => number.parse().ok(),
            _ => None,
        }
    }
}

/// As JSON, except that numbers which JSON does not have are texts.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |f: &mut fmt::Formatter<'_>, text: &str| {
            f.write_str("\"")?;
            for c in text.chars() {
                match c {
                    '"' | '\\' => write!(f, "\\{c}")?,
                    c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                    c => write!(f, "{c}")?,
                }
            }
            f.write_str("\"")
        };
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(number) if number.ends_with(['N', 'y']) => text(f, number),
            Json::Number(number) => f.write_str(number),
            Json::Text(value) => text(f, value),
            Json::List(list) => {
                for (at, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if at == 0 { "[" } else { "," })?;
                }
                f.write_str(if list.is_empty() { "[]" } else { "]" })
            }
            Json::Map(pairs) => {
                for (at, (name, value)) in pairs.iter().enumerate() {
                    f.write_str(if at == 0 { "{" } else { "," })?;
                    text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_str(if pairs.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_home() {
        let text = r#" {"a": [1, -2.5e3, NaN, -Infinity, 18446744073709551615], "b": "x\"\\\u00e9\ud83d\ude00\n", "c": {}, "d": [], "e": null, "a": true} "#;
        let json = Json::parse(text.as_bytes(), 8).unwrap();
        assert_eq!(json.get("b").unwrap().text(), Some("x\"\\é😀\n"));
        assert_eq!(json.get("a"), Some(&Json::Bool(true)));
        let again = Json::parse(json.to_string().as_bytes(), 8).unwrap();
        assert_eq!(again.to_string(), json.to_string());
        assert_eq!(Json::parse(b"3.0", 1).unwrap().count(), Some(3));
        assert!(Json::parse(b"-1", 1).unwrap().count().is_none());
    }

    #[test]
    fn what_is_wrong_is_told() {
        for text in [
            "",
            "[",
            "[1,]",
            "{\"a\"}",
            "\"abc",
            "\"\\x\"",
            "\"\\u12\"",
            "nul",
            "1 2",
            "--1",
            "{1:2}",
            "\u{feff}1",
        ] {
            assert!(Json::parse(text.as_bytes(), 8).is_err(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(Json::parse(deep.as_bytes(), 64).unwrap_err().to_string().contains("too deep"));
        assert!(Json::parse(b"[[1]]", 1).is_err() && Json::parse(b"[[1]]", 2).is_ok());
    }
}
