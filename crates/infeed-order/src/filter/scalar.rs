//! The values of a filter.

use super::number;
use std::{borrow::Cow, cmp::Ordering, fmt};

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// True or false.
    Bool(bool),
    /// Not there.
    None,
}

impl Scalar<'_> {
    /// The same value, borrowed.
    pub fn borrow(&self) -> Scalar<'_> {
        match self {
            Scalar::Int(x) => Scalar::Int(*x),
            Scalar::Float(x) => Scalar::Float(*x),
            Scalar::Text(x) => Scalar::Text(Cow::Borrowed(x)),
            Scalar::Bool(x) => Scalar::Bool(*x),
            Scalar::None => Scalar::None,
        }
    }

    /// How two values of one kind compare; `Ok(None)` when one is no number, `Err` when their kinds differ.
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

    /// What kind it is, with the value, for messages.
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

/// As a filter has it.
impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(x) => write!(f, "{x}"),
            // Always with a point or an exponent, so that it stays a fraction, and with every bit.
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
