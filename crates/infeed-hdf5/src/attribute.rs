//! Attributes: small named values of an object.

use crate::{
    datatype::{self, Class, Datatype, FloatFormat, Native, Padding, trim},
    error::{Error, Result},
    header::{Header, SharedTable, kind, shared_part},
    heap::{FractalHeap, GlobalHeap},
    meta::Meta,
    space::Space,
    tree,
};
use bytes::Bytes;

/// A named value.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub datatype: Datatype,
    /// How many of them.
    pub space: Space,
    pub(crate) raw: Bytes,
}

/// The value of an attribute. Single values are lists of one; the attribute's space tells the difference.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Whole numbers, enums and bools.
    Integers(Vec<i128>),
    /// Floating point numbers.
    Floats(Vec<f64>),
    /// Texts of fixed or any length.
    Texts(Vec<String>),
    /// Addresses of objects, as lists: what netCDF keeps its dimensions in. A plain reference is a list of one.
    Objects(Vec<Vec<u64>>),
    /// Anything else, as it lies in the file.
    Bytes(Bytes),
}

/// All attributes of an object.
pub(crate) fn all(meta: &Meta, table: &SharedTable, header: &Header) -> Result<Vec<Attribute>> {
    let mut out = Vec::new();
    for message in header.all(meta, table, kind::ATTRIBUTE)? {
        out.push(parse(meta, table, &message.data, message.address)?);
    }
    if let Some(message) = header.find(meta, table, kind::ATTRIBUTE_INFO)? {
        let mut cursor = message.cursor(meta, "attribute info");
        cursor.version(0..=0)?;
        if cursor.u8()? & 1 != 0 {
            cursor.skip(2)?;
        }
        if let (Some(heap), Some(names)) = (cursor.address()?, cursor.address()?) {
            let heap = FractalHeap::open(meta, heap)?;
            tree::v2(meta, names, 8, &mut |record| {
                let wrong = || Error::damaged("an attribute's record is too short");
                let (id, flags) = (record.get(..8).ok_or_else(wrong)?, record.get(8).ok_or_else(wrong)?);
                let mut data = heap.get(meta, id)?;
                if flags & 2 != 0 {
                    data = shared_part(meta, table, kind::ATTRIBUTE, &data, names)?.data;
                }
                out.push(parse(meta, table, &data, names)?);
                Ok(())
            })?;
        }
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

fn parse(meta: &Meta, table: &SharedTable, data: &Bytes, address: u64) -> Result<Attribute> {
    let mut cursor = meta.cursor(data, address, "attribute");
    let version = cursor.version(1..=3)?;
    let flags = cursor.u8()?;
    let lens = [cursor.u16()?, cursor.u16()?, cursor.u16()?].map(usize::from);
    if version == 3 {
        cursor.skip(1)?;
    }
    let mut part = |len: usize| -> Result<Bytes> {
        let start = cursor.position();
        cursor.skip(if version == 1 { len.next_multiple_of(8) } else { len })?;
        Ok(data.slice(start..start + len))
    };
    let (name, kind_bytes, space_bytes) = (part(lens[0])?, part(lens[1])?, part(lens[2])?);
    let shared = |bit: u8| version > 1 && flags & bit != 0;
    let message = |bytes: Bytes, bit, kind| -> Result<Bytes> {
        if shared(bit) { Ok(shared_part(meta, table, kind, &bytes, address)?.data) } else { Ok(bytes) }
    };
    let kind_bytes = message(kind_bytes, 1, kind::DATATYPE)?;
    let space_bytes = message(space_bytes, 2, kind::DATASPACE)?;
    let datatype =
        datatype::parse(&mut meta.cursor(&kind_bytes, address, "datatype"), meta.limits.max_depth)?;
    let space = Space::parse(&mut meta.cursor(&space_bytes, address, "dataspace"))?;
    let len = space.elements().and_then(|n| n.checked_mul(u64::from(datatype.size)));
    let len = len.and_then(|len| usize::try_from(len).ok()).ok_or_else(|| cursor.wrong("its size"))?;
    let start = cursor.position();
    cursor.skip(len)?;
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Ok(Attribute { name, datatype, space, raw: data.slice(start..start + len) })
}

impl Attribute {
    /// The bytes of all elements, as they lie in the file.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    pub(crate) fn value(&self, meta: &Meta, heap: &GlobalHeap) -> Result<Value> {
        let size = self.datatype.size as usize;
        let elements = || self.raw.chunks_exact(size);
        Ok(match &self.datatype.class {
            Class::Text { padding } => Value::Texts(elements().map(|e| text(trim(e, *padding))).collect()),
            Class::VarText => {
                let texts = elements()
                    .map(|e| var_bytes(meta, heap, e, 1).map(|found| text(trim(&found, Padding::Zero))));
                Value::Texts(texts.collect::<Result<_>>()?)
            }
            Class::Reference(0) if size == usize::from(meta.sizes.offset) => {
                Value::Objects(elements().map(|e| addresses(meta, e)).collect::<Result<_>>()?)
            }
            Class::VarList(base) if base.class == Class::Reference(0) => {
                let list = |e| addresses(meta, &var_bytes(meta, heap, e, base.size as usize)?);
                Value::Objects(elements().map(list).collect::<Result<_>>()?)
            }
            _ => numbers(&self.datatype, &self.raw).unwrap_or_else(|| Value::Bytes(self.raw.clone())),
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Addresses of objects; those that lead nowhere are left out.
fn addresses(meta: &Meta, bytes: &[u8]) -> Result<Vec<u64>> {
    let mut cursor = meta.cursor(bytes, 0, "reference");
    let mut out = Vec::new();
    while !cursor.rest().is_empty() {
        out.extend(cursor.address()?.filter(|&address| address != 0));
    }
    Ok(out)
}

/// The bytes that an element of any length stands for: a length, then where they are.
pub(crate) fn var_bytes(meta: &Meta, heap: &GlobalHeap, element: &[u8], size: usize) -> Result<Bytes> {
    let mut cursor = meta.cursor(element, 0, "element of any length");
    let (len, address, index) = (cursor.u32()? as usize, cursor.address()?, cursor.u32()?);
    let Some(address) = address.filter(|&address| address != 0 && len > 0) else { return Ok(Bytes::new()) };
    let found = heap.get(meta, address, index)?;
    let len = len.checked_mul(size).filter(|&len| len <= found.len());
    let len =
        len.ok_or_else(|| Error::damaged_at(address, "a text or list is longer than what is stored"))?;
    Ok(found.slice(..len))
}

/// Numbers of any width as wide numbers.
fn numbers(datatype: &Datatype, raw: &Bytes) -> Option<Value> {
    let base = match &datatype.class {
        Class::Array { base, .. } | Class::Enum { base, .. } => base,
        _ => datatype,
    };
    base.check().ok()?;
    let native = Native::of(base)?;
    let size = base.size as usize;
    let mut bytes = raw.to_vec();
    native.apply(&mut bytes);
    let wide = |element: &[u8]| {
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(element);
        u64::from_ne_bytes(wide)
    };
    if cfg!(target_endian = "big") || size > 8 {
        return None;
    }
    let elements = bytes.chunks_exact(size).map(wide);
    let empty = 64 - size as u32 * 8;
    match &base.class {
        Class::Integer { signed: true, .. } => {
            Some(Value::Integers(elements.map(|n| i128::from(((n << empty) as i64) >> empty)).collect()))
        }
        Class::Integer { .. } | Class::Bits { .. } => {
            Some(Value::Integers(elements.map(i128::from).collect()))
        }
        Class::Float { format, .. } => {
            let number = |n: u64| {
                Some(match format {
                    FloatFormat::F16 => half::f16::from_bits(n as u16).to_f64(),
                    FloatFormat::BF16 => half::bf16::from_bits(n as u16).to_f64(),
                    FloatFormat::F32 => f64::from(f32::from_bits(n as u32)),
                    FloatFormat::F64 => f64::from_bits(n),
                    FloatFormat::Other(_) => return None,
                })
            };
            elements.map(number).collect::<Option<Vec<f64>>>().map(Value::Floats)
        }
        _ => None,
    }
}
