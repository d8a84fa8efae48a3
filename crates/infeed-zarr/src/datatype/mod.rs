//! Data types: what the bytes of an element mean.

mod native;
mod parse;

use crate::error::{Error, Result};
pub use native::Native;
pub(crate) use native::foreign;
pub(crate) use parse::{named, numpy};
use std::fmt;

/// The order of bytes in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// The numbers that arrays are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

impl Scalar {
    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::BF16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    /// Whether it is a floating point number.
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64)
    }
}

/// A member of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where it begins in the element.
    pub offset: usize,
    /// What it is.
    pub datatype: Datatype,
}

/// The kind of a data type, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// A number or a truth value.
    Number(Scalar, Order),
    /// A complex number, given as its real part and its imaginary part behind it. They are also fields called `r` and `i`.
    Complex(Scalar, Order),
    /// A time or a span of time, given as a number of 64 bits with a sign; the least one is "not a time".
    Time {
        /// Whether it is a span.
        span: bool,
        /// What it counts, such as `ns` or `10s`.
        unit: String,
        /// Byte order.
        order: Order,
    },
    /// Bytes, filled up with zeros.
    Bytes,
    /// Characters of 4 bytes each, filled up with zeros.
    Unicode(Order),
    /// Bytes that mean something to somebody.
    Raw,
    /// Several fields.
    Structure(Vec<Field>),
    /// An array of fixed shape in every element.
    Array {
        /// Its shape.
        shape: Vec<u64>,
        /// What it holds.
        base: Box<Datatype>,
    },
}

/// A data type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datatype {
    /// Bytes of an element.
    pub size: usize,
    /// What they are.
    pub class: Class,
}

/// Elements may be this large: more is a mistake.
pub(crate) const MOST_BYTES: u64 = 1 << 24;

impl Datatype {
    pub(crate) fn number(scalar: Scalar, order: Order) -> Datatype {
        Datatype { size: scalar.size(), class: Class::Number(scalar, order) }
    }

    /// The plain number this is, if it is one.
    pub fn scalar(&self) -> Option<Scalar> {
        match self.class {
            Class::Number(scalar, _) => Some(scalar),
            Class::Time { .. } => Some(Scalar::I64),
            _ => None,
        }
    }

    /// A field by its path: names joined by dots. The empty path is the data type itself.
    pub fn field(&self, path: &str) -> Result<(usize, Datatype)> {
        let (mut offset, mut found) = (0, self.clone());
        for name in path.split('.').filter(|name| !name.is_empty()) {
            let fields = match found.class {
                Class::Structure(fields) => fields,
                Class::Complex(scalar, order) => {
                    let part = |name: &str, offset| Field {
                        name: name.to_owned(),
                        offset,
                        datatype: Datatype::number(scalar, order),
                    };
                    vec![part("r", 0), part("i", scalar.size())]
                }
                _ => return Err(Error::Request(format!("there is no field `{name}` in {found}"))),
            };
            let Some(field) = fields.iter().find(|field| field.name == name) else {
                let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                return Err(Error::Request(format!("there is no field `{name}`, only {}", names.join(", "))));
            };
            offset += field.offset;
            found = field.datatype.clone();
        }
        Ok((offset, found))
    }

    /// The same with another byte order, as the codec `bytes` of version 3 tells it for all numbers.
    pub(crate) fn with_order(&self, order: Order) -> Datatype {
        let class = match &self.class {
            Class::Number(scalar, _) => Class::Number(*scalar, order),
            Class::Complex(scalar, _) => Class::Complex(*scalar, order),
            Class::Time { span, unit, .. } => Class::Time { span: *span, unit: unit.clone(), order },
            Class::Unicode(_) => Class::Unicode(order),
            Class::Array { shape, base } => {
                Class::Array { shape: shape.clone(), base: Box::new(base.with_order(order)) }
            }
            // Fields of structures are always little-endian in version 3, and there is nothing to turn in bytes.
            other => other.clone(),
        };
        Datatype { size: self.size, class }
    }

    /// Whether an order of bytes must be known: numbers of more than one byte.
    pub(crate) fn has_order(&self) -> bool {
        match &self.class {
            Class::Number(scalar, _) => scalar.size() > 1,
            Class::Complex(..) | Class::Time { .. } | Class::Unicode(_) => true,
            Class::Array { base, .. } => base.has_order(),
            _ => false,
        }
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |order: &Order| if *order == Order::Big { ">" } else { "<" };
        match &self.class {
            Class::Number(scalar, order) => {
                let order = if scalar.size() == 1 { "" } else { sign(order) };
                write!(f, "{order}{}", format!("{scalar:?}").to_lowercase())
            }
            Class::Complex(_, order) => write!(f, "{}complex{}", sign(order), self.size * 8),
            Class::Time { span, unit, order } => {
                write!(f, "{}{}[{unit}]", sign(order), if *span { "timedelta" } else { "datetime" })
            }
            Class::Bytes => write!(f, "text of {} bytes", self.size),
            Class::Unicode(order) => write!(f, "{}text of {} characters", sign(order), self.size / 4),
            Class::Raw => write!(f, "{} raw bytes", self.size),
            Class::Structure(fields) => {
                let names: Vec<String> =
                    fields.iter().map(|field| format!("{}: {}", field.name, field.datatype)).collect();
                write!(f, "{{{}}}", names.join(", "))
            }
            Class::Array { shape, base } => write!(f, "array {shape:?} of {base}"),
        }
    }
}
