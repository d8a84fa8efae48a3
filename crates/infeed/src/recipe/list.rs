//! Long lists of numbers in a recipe, plain or packed.
//!
//! A million indices as JSON numbers are slow to write and to read. Packed, they are little-endian bytes in base64.

use base64::{Engine, engine::general_purpose::STANDARD};
use infeed_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Whole numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Integers {
    /// As JSON numbers.
    Plain(Vec<i64>),
    /// As packed `i64`.
    Packed {
        /// Little-endian bytes.
        i64: String,
    },
}

/// Real numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reals {
    /// As JSON numbers.
    Plain(Vec<f64>),
    /// As packed `f64`.
    Packed {
        /// Little-endian bytes.
        f64: String,
    },
}

impl Integers {
    /// Returns the numbers.
    pub fn numbers(&self) -> Result<Vec<i64>> {
        match self {
            Integers::Plain(list) => Ok(list.clone()),
            Integers::Packed { i64 } => unpack(i64, i64::from_le_bytes),
        }
    }
}

impl Reals {
    /// Returns the numbers.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        match self {
            Reals::Plain(list) => Ok(list.clone()),
            Reals::Packed { f64 } => unpack(f64, f64::from_le_bytes),
        }
    }
}

fn unpack<T>(text: &str, number: fn([u8; 8]) -> T) -> Result<Vec<T>> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|e| Error::argument(format!("recipe: a packed list is not base64: {e}")))?;
    let (eights, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Error::argument("recipe: a packed list is cut off: it is not a whole number of 8 bytes"));
    }
    Ok(eights.iter().map(|b| number(*b)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_plain() {
        let packed: Integers = serde_json::from_str(r#"{"i64": "AQAAAAAAAAD//////////w=="}"#).unwrap();
        assert_eq!(packed.numbers().unwrap(), [1, -1]);
        let plain: Integers = serde_json::from_str("[1, -1]").unwrap();
        assert_eq!(plain.numbers().unwrap(), [1, -1]);
        let short: Reals = serde_json::from_str(r#"{"f64": "AQAA"}"#).unwrap();
        assert!(short.numbers().unwrap_err().to_string().contains("cut off"));
        let odd: Reals = serde_json::from_str(r#"{"f64": "?"}"#).unwrap();
        assert!(odd.numbers().unwrap_err().to_string().contains("base64"));
    }
}
