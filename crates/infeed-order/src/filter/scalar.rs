//! The values in a filter.

use super::number;
use std::{borrow::Cow, cmp::Ordering, fmt};

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// True or false.
    Bool(bool),
    /// Missing.
    None,
}

impl Scalar<'_> {
    /// Returns the same value, borrowed.
    pub fn borrow(&self) -> Scalar<'_> {
        match self {
            Scalar::Int(x) => Scalar::Int(*x),
            Scalar::Float(x) => Scalar::Float(*x),
            Scalar::Text(x) => Scalar::Text(Cow::Borrowed(x)),
            Scalar::Bool(x) => Scalar::Bool(*x),
            Scalar::None => Scalar::None,
        }
    }

    /// Compares two values of one kind. Returns `Ok(None)` if one is NaN, `Err` if their kinds differ.
    pub(super) fn compare(&self, other: &Scalar<'_>) -> Result<Option<Ordering>, ()> {
        Ok(match (self, other) {
            (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(b)),
            (Scalar::Int(a), Scalar::Float(b)) => number::compare(*a, *b),
            (Scalar::Float(a), Scalar::Int(b)) => number::compare(*b, *a).map(Ordering::reverse),
            (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(b),
            (Scalar::Text(a), Scalar::Text(b)) => Some(a.cmp(b)),
            (Scalar::Bool(a), Scalar::Bool(b)) => Some(a.cmp(b)),
            _ => return Err(()),
        })
    }

    /// Describes the value and its kind for messages.
    pub(super) fn words(&self) -> String {
        match self {
            Scalar::Int(_) | Scalar::Float(_) => format!("the number {self}"),
            Scalar::Text(text) if text.chars().count() > 40 => {
                let start: String = text.chars().take(37).collect();
                format!("the text {}", Scalar::Text(format!("{start}...").into()))
            }
            Scalar::Text(_) => format!("the text {self}"),
            Scalar::Bool(_) | Scalar::None => self.to_string(),
        }
    }
}

/// Prints the value in filter syntax.
impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(x) => write!(f, "{x}"),
            // Always with a point or an exponent, so that it parses as a float, and with full precision.
            Scalar::Float(x) => write!(f, "{x:?}"),
            Scalar::Bool(x) => write!(f, "{x}"),
            Scalar::None => f.write_str("none"),
            Scalar::Text(text) => {
                f.write_str("\"")?;
                for c in text.chars() {
                    match c {
                        '"' => f.write_str("\\\"")?,
                        '\\' => f.write_str("\\\\")?,
                        '\n' => f.write_str("\\n")?,
                        '\r' => f.write_str("\\r")?,
                        '\t' => f.write_str("\\t")?,
                        c => write!(f, "{c}")?,
                    }
                }
                f.write_str("\"")
            }
        }
    }
}
