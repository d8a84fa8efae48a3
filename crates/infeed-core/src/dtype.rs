//! Element types of tensors.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The element type of a tensor, named as users write it (`"f32"`, `"u8"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Dtype {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Dtype {
    /// Every type, in the order of the declaration.
    pub const ALL: [Dtype; 13] = [
        Dtype::Bool,
        Dtype::U8,
        Dtype::I8,
        Dtype::U16,
        Dtype::I16,
        Dtype::U32,
        Dtype::I32,
        Dtype::U64,
        Dtype::I64,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F32,
        Dtype::F64,
    ];

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::Bool | Dtype::U8 | Dtype::I8 => 1,
            Dtype::U16 | Dtype::I16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::U32 | Dtype::I32 | Dtype::F32 => 4,
            Dtype::U64 | Dtype::I64 | Dtype::F64 => 8,
        }
    }

    /// The short name: `u8`, `bf16`, ...
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::Bool => "bool",
            Dtype::U8 => "u8",
            Dtype::I8 => "i8",
            Dtype::U16 => "u16",
            Dtype::I16 => "i16",
            Dtype::U32 => "u32",
            Dtype::I32 => "i32",
            Dtype::U64 => "u64",
            Dtype::I64 => "i64",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// Parses a name as users write it: ours (`f32`), NumPy's (`float32`) or torch's (`torch.float32`).
    pub fn parse(text: &str) -> Option<Dtype> {
        let name = text.strip_prefix("torch.").unwrap_or(text).to_ascii_lowercase();
        let long = match name.as_str() {
            "uint8" => "u8",
            "int8" => "i8",
            "uint16" => "u16",
            "int16" | "short" => "i16",
            "uint32" => "u32",
            "int32" | "int" => "i32",
            "uint64" => "u64",
            "int64" | "long" => "i64",
            "float16" | "half" => "f16",
            "bfloat16" => "bf16",
            "float32" | "float" => "f32",
            "float64" | "double" => "f64",
            other => other,
        };
        Dtype::ALL.into_iter().find(|d| d.name() == long)
    }

    /// Whether this is an integer type.
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, Dtype::Bool)
    }

    /// Returns the smallest and the largest number of an integer type; `None` for others.
    pub const fn range(self) -> Option<(i128, i128)> {
        let bits = self.size() * 8;
        match self {
            Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => Some((0, (1 << bits) - 1)),
            Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            _ => None,
        }
    }

    /// Whether an integer fits this integer type.
    pub const fn holds(self, number: i64) -> bool {
        match self.range() {
            Some((low, high)) => low <= number as i128 && number as i128 <= high,
            None => false,
        }
    }

    /// Whether the type is a floating-point one.
    pub const fn is_float(self) -> bool {
        matches!(self, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
