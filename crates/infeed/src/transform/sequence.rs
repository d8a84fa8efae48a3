//! Helpers for transforms of sequences: the array of a value, and its two ends.

use infeed_core::{Args, Error, Result, Tensor, Value};

/// An end of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The beginning.
    Left,
    /// The end.
    Right,
}

/// Reads `left` or `right`.
pub(super) fn side(args: &Args, name: &str) -> Result<Side> {
    match args.text(name)? {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        _ => Err(args.error(name, "must be right or left")),
    }
}

/// Returns the array inside, or an error.
pub(super) fn tensor(value: &mut Value) -> Result<&mut Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(Error::sample(format!("expected tokens, found {}", other.what()))),
    }
}
