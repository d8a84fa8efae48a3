//! Datatypes: what the bytes of an element mean.

mod native;
mod parse;

use crate::error::{Error, Result};
pub use native::Native;
pub(crate) use parse::parse;
use std::fmt;

/// The order of bytes in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// The floats that processors and frameworks know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FloatFormat {
    /// IEEE half.
    F16,
    /// The upper half of a float32.
    BF16,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// Something else, in words.
    Other(String),
}

/// How a text of fixed length is filled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// Ends at the first zero.
    Zero,
    /// Filled up with zeros.
    Zeros,
    /// Filled up with spaces.
    Spaces,
}

/// A member of a compound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where it begins in the element.
    pub offset: u32,
    /// What it is.
    pub datatype: Datatype,
}

/// The kind of a datatype, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// A whole number of `precision` bits that begin at bit `shift`.
    Integer {
        /// Whether it has a sign.
        signed: bool,
        /// Byte order.
        order: Order,
        /// Bits in use.
        precision: u16,
        /// Unused bits below them.
        shift: u16,
    },
    /// A floating point number.
    Float {
        /// Which one.
        format: FloatFormat,
        /// Byte order.
        order: Order,
    },
    /// A text of fixed length.
    Text {
        /// How it is filled up.
        padding: Padding,
    },
    /// Bits, given as an unsigned number.
    Bits {
        /// Byte order.
        order: Order,
        /// Bits in use.
        precision: u16,
        /// Unused bits below them.
        shift: u16,
    },
    /// Bytes that mean something to somebody.
    Opaque {
        /// To whom.
        tag: String,
    },
    /// Several fields.
    Compound(Vec<Field>),
    /// A pointer to another object: its kind in the file (0: an object, 1: a region, others: newer ones).
    Reference(u8),
    /// Names for numbers.
    Enum {
        /// The numbers.
        base: Box<Datatype>,
        /// Names and numbers.
        members: Vec<(String, i128)>,
    },
    /// A text of any length: the element says where it is.
    VarText,
    /// A list of any length: the element says where it is.
    VarList(Box<Datatype>),
    /// An array of fixed shape in every element.
    Array {
        /// Its shape.
        shape: Vec<u32>,
        /// What it holds.
        base: Box<Datatype>,
    },
    /// A time: nobody writes these.
    Time,
}

/// A datatype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datatype {
    /// Bytes of an element in the file.
    pub size: u32,
    /// What they are.
    pub class: Class,
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

impl Datatype {
    /// The plain number this is, if it is one. `h5py`'s bool is an enum of two names; other enums are their numbers.
    pub fn scalar(&self) -> Option<Scalar> {
        Some(match (&self.class, self.size) {
            (Class::Integer { signed: true, .. }, 1) => Scalar::I8,
            (Class::Integer { signed: true, .. }, 2) => Scalar::I16,
            (Class::Integer { signed: true, .. }, 4) => Scalar::I32,
            (Class::Integer { signed: true, .. }, 8) => Scalar::I64,
            (Class::Integer { .. } | Class::Bits { .. }, 1) => Scalar::U8,
            (Class::Integer { .. } | Class::Bits { .. }, 2) => Scalar::U16,
            (Class::Integer { .. } | Class::Bits { .. }, 4) => Scalar::U32,
            (Class::Integer { .. } | Class::Bits { .. }, 8) => Scalar::U64,
            (Class::Float { format, .. }, _) => match format {
                FloatFormat::F16 => Scalar::F16,
                FloatFormat::BF16 => Scalar::BF16,
                FloatFormat::F32 => Scalar::F32,
                FloatFormat::F64 => Scalar::F64,
                FloatFormat::Other(_) => return None,
            },
            (Class::Enum { base, members }, size) => {
                let value = |name: &str| members.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
                let truth = size == 1 && members.len() == 2;
                if truth && value("FALSE") == Some(0) && value("TRUE") == Some(1) {
                    Scalar::Bool
                } else {
                    base.scalar()?
                }
            }
            _ => return None,
        })
    }

    /// A field by its path: names joined by dots. The empty path is the datatype itself.
    pub fn field(&self, path: &str) -> Result<(u32, &Datatype)> {
        let (mut offset, mut found) = (0u32, self);
        for name in path.split('.').filter(|name| !name.is_empty()) {
            let Class::Compound(fields) = &found.class else {
                return Err(Error::Request(format!("there is no field `{name}` in {found}")));
            };
            let Some(field) = fields.iter().find(|field| field.name == name) else {
                let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                return Err(Error::Request(format!("there is no field `{name}`, only {}", names.join(", "))));
            };
            offset = offset.saturating_add(field.offset);
            found = &field.datatype;
        }
        Ok((offset, found))
    }

    /// Says by name what cannot be read as data.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Unsupported(what));
        match &self.class {
            Class::Reference(kind) => {
                refuse(format!("references (kind {kind}): they only mean something to HDF5"))
            }
            Class::Time => refuse("the datatype `time`: no library writes it".to_owned()),
            Class::VarList(base) => refuse(format!("lists of variable length ({base}); only texts may vary")),
            Class::Float { format: FloatFormat::Other(what), .. } => refuse(what.clone()),
            Class::Integer { .. } | Class::Bits { .. } if !matches!(self.size, 1 | 2 | 4 | 8) => {
                refuse(format!("integers of {} bytes; 1, 2, 4 and 8 are known", self.size))
            }
            Class::Enum { base, .. } | Class::Array { base, .. } => base.check(),
            Class::Compound(fields) => fields.iter().try_for_each(|field| field.datatype.check()),
            _ => Ok(()),
        }
    }

    /// Whether elements only say where their text is.
    pub fn is_var_text(&self) -> bool {
        matches!(self.class, Class::VarText)
    }
}

/// The text of an element of fixed length, without what fills it up.
pub fn trim(element: &[u8], padding: Padding) -> &[u8] {
    match padding {
        Padding::Zero => element.split(|&b| b == 0).next().unwrap_or_default(),
        Padding::Zeros => &element[..element.len() - element.iter().rev().take_while(|&&b| b == 0).count()],
        Padding::Spaces => {
            &element[..element.len() - element.iter().rev().take_while(|&&b| b == b' ').count()]
        }
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let big = |order: &Order| if *order == Order::Big { ">" } else { "<" };
        match &self.class {
            Class::Integer { signed, order, .. } => {
                write!(f, "{}{}{}", big(order), if *signed { "i" } else { "u" }, self.size)
            }
            Class::Float { format: FloatFormat::BF16, order } => write!(f, "{}bf16", big(order)),
            Class::Float { format: FloatFormat::Other(what), .. } => f.write_str(what),
            Class::Float { order, .. } => write!(f, "{}f{}", big(order), self.size),
            Class::Text { .. } => write!(f, "text of {} bytes", self.size),
            Class::Bits { order, .. } => write!(f, "{}bits{}", big(order), self.size),
            Class::Opaque { tag } => write!(f, "{} opaque bytes `{tag}`", self.size),
            Class::Compound(fields) => {
                let names: Vec<String> =
                    fields.iter().map(|field| format!("{}: {}", field.name, field.datatype)).collect();
                write!(f, "{{{}}}", names.join(", "))
            }
            Class::Reference(_) => f.write_str("reference"),
            Class::Enum { base, .. } => write!(f, "enum of {base}"),
            Class::VarText => f.write_str("text of any length"),
            Class::VarList(base) => write!(f, "list of {base} of any length"),
            Class::Array { shape, base } => write!(f, "array {shape:?} of {base}"),
            Class::Time => f.write_str("time"),
        }
    }
}
