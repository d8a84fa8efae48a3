//! Reads the datatype message.

use super::{Class, Datatype, Field, FloatFormat, Order, Padding};
use crate::{
    cursor::{Cursor, width_of},
    error::{Error, Result},
};

/// Reads one datatype; `depth` is how many may still be inside each other.
pub(crate) fn parse(cursor: &mut Cursor<'_>, depth: u32) -> Result<Datatype> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(cursor.wrong("types are nested too deep"));
    };
    let head = cursor.u8()?;
    let (version, bits, size) = (head >> 4, cursor.uint(3)? as u32, cursor.u32()?);
    if version > 5 {
        return Err(Error::Unsupported(format!("version {version} of datatypes")));
    }
    if size == 0 {
        return Err(cursor.wrong("a datatype of no bytes"));
    }
    let order = if bits & 1 == 0 { Order::Little } else { Order::Big };
    let class = match head & 15 {
        0 | 4 => {
            let (shift, precision) = (cursor.u16()?, cursor.u16()?);
            let total = size.saturating_mul(8);
            if precision == 0 || u32::from(shift) + u32::from(precision) > total {
                return Err(cursor.wrong("the bits of a number do not fit into its bytes"));
            }
            if head & 15 == 4 {
                Class::Bits { order, precision, shift }
            } else {
                Class::Integer { signed: bits & 8 != 0, order, precision, shift }
            }
        }
        1 => float(cursor, bits, size)?,
        2 => {
            cursor.skip(2)?;
            Class::Time
        }
        3 => Class::Text {
            padding: match bits & 15 {
                0 => Padding::Zero,
                2 => Padding::Spaces,
                _ => Padding::Zeros,
            },
        },
        5 => {
            let tag = cursor.take((bits & 255) as usize)?;
            let end = tag.iter().position(|&b| b == 0).unwrap_or(tag.len());
            Class::Opaque { tag: String::from_utf8_lossy(&tag[..end]).into_owned() }
        }
        6 => compound(cursor, version, bits & 0xffff, size, depth)?,
        7 => Class::Reference((bits & 15) as u8),
        8 => enumeration(cursor, version, bits & 0xffff, size, depth)?,
        9 => {
            let base = parse(cursor, depth)?;
            if bits & 15 == 1 { Class::VarText } else { Class::VarList(Box::new(base)) }
        }
        10 => array(cursor, version, size, depth)?,
        11 => {
            // A complex number is told as its two parts, as older files have it.
            let base = parse(cursor, depth)?;
            let half = base.size;
            if half.checked_mul(2) != Some(size) {
                return Err(cursor.wrong("the parts of a complex number do not fit into it"));
            }
            let part = |name: &str, offset| Field { name: name.to_owned(), offset, datatype: base.clone() };
            Class::Compound(vec![part("r", 0), part("i", half)])
        }
        other => return Err(Error::Unsupported(format!("datatype class {other}"))),
    };
    Ok(Datatype { size, class })
}

fn float(cursor: &mut Cursor<'_>, bits: u32, size: u32) -> Result<Class> {
    let order = if bits & 1 == 0 { Order::Little } else { Order::Big };
    let vax = bits & 0x40 != 0;
    let (shift, precision) = (cursor.u16()?, cursor.u16()?);
    let exponent = (cursor.u8()?, cursor.u8()?);
    let mantissa = (cursor.u8()?, cursor.u8()?);
    let bias = cursor.u32()?;
    let sign = (bits >> 8) & 255;
    let implied = (bits >> 4) & 3 == 2;
    let usual =
        shift == 0 && u32::from(precision) == size.saturating_mul(8) && implied && !vax && mantissa.0 == 0;
    let format = match (size, exponent, mantissa.1, bias, sign) {
        (2, (10, 5), 10, 15, 15) if usual => FloatFormat::F16,
        (2, (7, 8), 7, 127, 15) if usual => FloatFormat::BF16,
        (4, (23, 8), 23, 127, 31) if usual => FloatFormat::F32,
        (8, (52, 11), 52, 1023, 63) if usual => FloatFormat::F64,
        _ => FloatFormat::Other(format!(
            "floats of {size} bytes with {precision} bits, {} of them exponent and {} mantissa{}; \
             float16, bfloat16, float32 and float64 are known",
            exponent.1,
            mantissa.1,
            if vax { ", in VAX order" } else { "" }
        )),
    };
    Ok(Class::Float { format, order })
}

fn compound(cursor: &mut Cursor<'_>, version: u8, count: u32, size: u32, depth: u32) -> Result<Class> {
    let mut fields = Vec::new();
    for _ in 0..count {
        let start = cursor.position();
        let name = cursor.text()?;
        let offset = if version >= 3 {
            cursor.uint(width_of(u64::from(size)))? as u32
        } else {
            pad(cursor, start)?;
            cursor.u32()?
        };
        let mut shape = Vec::new();
        if version == 1 {
            // In the first version every field may be an array, with its shape here.
            let rank = usize::from(cursor.u8()?);
            cursor.skip(3 + 4 + 4)?;
            let dims = [cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?];
            shape =
                dims.get(..rank).ok_or_else(|| cursor.wrong("a field of more than 4 dimensions"))?.to_vec();
        }
        let mut datatype = parse(cursor, depth)?;
        if !shape.is_empty() {
            let total = shape.iter().try_fold(datatype.size, |all, &n| all.checked_mul(n));
            let size = total.filter(|&n| n > 0).ok_or_else(|| cursor.wrong("the shape of a field"))?;
            datatype = Datatype { size, class: Class::Array { shape, base: Box::new(datatype) } };
        }
        if u64::from(offset) + u64::from(datatype.size) > u64::from(size) {
            return Err(cursor.wrong("a field ends behind its compound"));
        }
        fields.push(Field { name, offset, datatype });
    }
    Ok(Class::Compound(fields))
}

/// Names of older versions are filled up to 8 bytes.
fn pad(cursor: &mut Cursor<'_>, start: usize) -> Result<()> {
    let len = cursor.position() - start;
    cursor.skip(len.next_multiple_of(8) - len)
}

fn enumeration(cursor: &mut Cursor<'_>, version: u8, count: u32, size: u32, depth: u32) -> Result<Class> {
    let base = parse(cursor, depth)?;
    let Class::Integer { signed, order, .. } = base.class else {
        return Err(Error::Unsupported(format!("an enum of {base}")));
    };
    if base.size != size || size > 8 {
        return Err(cursor.wrong("an enum and its numbers have different sizes"));
    }
    let mut names = Vec::new();
    for _ in 0..count {
        let start = cursor.position();
        names.push(cursor.text()?);
        if version < 3 {
            pad(cursor, start)?;
        }
    }
    let mut members = Vec::with_capacity(names.len());
    for name in names {
        let mut value = cursor.take(size as usize)?.to_vec();
        if order == Order::Big {
            value.reverse();
        }
        let mut wide = [0; 8];
        wide[..value.len()].copy_from_slice(&value);
        let empty = 64 - size * 8;
        let raw = u64::from_le_bytes(wide) << empty;
        members.push((name, if signed { i128::from(raw as i64 >> empty) } else { i128::from(raw >> empty) }));
    }
    Ok(Class::Enum { base: Box::new(base), members })
}

fn array(cursor: &mut Cursor<'_>, version: u8, size: u32, depth: u32) -> Result<Class> {
    let rank = usize::from(cursor.u8()?);
    if version < 3 {
        cursor.skip(3)?;
    }
    let mut shape = Vec::with_capacity(rank);
    for _ in 0..rank {
        shape.push(cursor.u32()?);
    }
    if version < 3 {
        cursor.skip(4 * rank)?;
    }
    let base = parse(cursor, depth)?;
    if shape.iter().try_fold(base.size, |all, &n| all.checked_mul(n)) != Some(size) {
        return Err(cursor.wrong("the shape of an array does not fit its size"));
    }
    Ok(Class::Array { shape, base: Box::new(base) })
}
