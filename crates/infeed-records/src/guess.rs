//! Infers the type of a field from sampled rows.

use infeed_core::{Dim, Dtype, FieldSpec};

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// Seen, but never with a value.
    Unknown,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// True or false.
    Bool,
    /// An integer.
    Int,
    /// An f64.
    Float,
    /// An f32.
    Single,
    /// An empty list.
    Empty,
    /// A list of booleans.
    Bools,
    /// A list of integers.
    Ints,
    /// A list of f64.
    Floats,
    /// A list of f32.
    Singles,
    /// Anything else, as JSON.
    Json,
}

impl Guess {
    /// Returns the common type, if one is a less specific observation of the other.
    pub fn meet(self, other: Guess) -> Option<Guess> {
        use Guess::{Bools, Empty, Float, Floats, Int, Ints, Json, Single, Singles, Unknown};
        Some(match (self, other) {
            (a, b) if a == b => a,
            (Unknown, a) | (a, Unknown) => a,
            (Int, Float) | (Float, Int) => Float,
            (Ints, Floats) | (Floats, Ints) => Floats,
            (Empty, a @ (Bools | Ints | Floats | Singles | Json)) => a,
            (a @ (Bools | Ints | Floats | Singles | Json), Empty) => a,
            // A record with one number where others have several.
            (Int, Ints) | (Ints, Int) | (Int, Empty) | (Empty, Int) => Ints,
            (Single, Singles) | (Singles, Single) | (Single, Empty) | (Empty, Single) => Singles,
            _ => return None,
        })
    }

    /// Returns the type of a field whose rows have either type; JSON if they differ.
    #[must_use]
    pub fn join(self, other: Guess) -> Guess {
        let mixed = matches!((self, other), (Guess::Int | Guess::Single, b) if b.is_list())
            || matches!((self, other), (a, Guess::Int | Guess::Single) if a.is_list());
        if mixed { Guess::Json } else { self.meet(other).unwrap_or(Guess::Json) }
    }

    fn is_list(self) -> bool {
        matches!(self, Guess::Empty | Guess::Bools | Guess::Ints | Guess::Floats | Guess::Singles)
    }

    /// Returns the spec of the field.
    pub fn spec(self) -> FieldSpec {
        let list = |dtype| FieldSpec::array(dtype, vec![Dim::Any]);
        match self {
            Guess::Text => FieldSpec::text(),
            Guess::Bytes => FieldSpec::encoded(),
            Guess::Bool => FieldSpec::scalar(Dtype::Bool),
            Guess::Int => FieldSpec::scalar(Dtype::I64),
            Guess::Float => FieldSpec::scalar(Dtype::F64),
            Guess::Single => FieldSpec::scalar(Dtype::F32),
            Guess::Bools => list(Dtype::Bool),
            Guess::Ints => list(Dtype::I64),
            Guess::Floats => list(Dtype::F64),
            Guess::Singles => list(Dtype::F32),
            Guess::Unknown | Guess::Empty | Guess::Json => FieldSpec::json(),
        }
    }

    /// Describes the type for messages.
    pub fn what(self) -> &'static str {
        match self {
            Guess::Unknown => "null",
            Guess::Text => "text",
            Guess::Bytes => "bytes",
            Guess::Bool => "true or false",
            Guess::Int => "a whole number",
            Guess::Float | Guess::Single => "a number",
            Guess::Empty => "an empty list",
            Guess::Bools => "a list of true and false",
            Guess::Ints => "a list of whole numbers",
            Guess::Floats | Guess::Singles => "a list of numbers",
            Guess::Json => "JSON",
        }
    }
}
