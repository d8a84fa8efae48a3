//! Writes cells of nested columns as JSON: lists, structs, maps. Binary is written in hexadecimal, times
//! as numbers in their unit.

use crate::{
    field::{
        is_binary, is_text,
        loose::{items, text},
        number,
        numbers::lane,
    },
    shard::depth::DEEPEST,
};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;
use half::f16;
use infeed_core::{Dtype, Error, Result};
use std::fmt::Write;

/// Writes one cell.
pub(crate) fn cell(array: &ArrayRef, row: usize) -> Result<String> {
    let mut out = String::new();
    // A value lies inside of the innermost list.
    write(array, row, DEEPEST + 2, &mut out)?;
    Ok(out)
}

fn write(array: &ArrayRef, row: usize, deep: usize, out: &mut String) -> Result<()> {
    if deep == 0 {
        return Err(Error::sample(format!("it is nested more than {DEEPEST} levels deep")));
    }
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        kind if is_text(kind) => quoted(text(array, row)?, out),
        kind if number(kind).is_some() => write_number(array, row, out)?,
        kind if is_binary(kind) => {
            let bytes = arrow_cast::cast(&array.slice(row, 1), &DataType::LargeBinary);
            let bytes = bytes.map_err(|e| Error::sample(e.to_string()))?;
            hex(bytes.as_binary::<i64>().value(0), out);
        }
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row), out),
        DataType::Null => out.push_str("null"),
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
            write(&crate::block::decode::unpacked(array.slice(row, 1))?, 0, deep - 1, out)?;
        }
        DataType::Struct(parts) => {
            out.push('{');
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quoted(part.name(), out);
                out.push(':');
                write(array.as_struct().column(at), row, deep - 1, out)?;
            }
            out.push('}');
        }
        DataType::Map(..) => map(array, row, deep, out)?,
        DataType::Union(..) => {
            let union = array.as_union();
            write(union.child(union.type_id(row)), union.value_offset(row), deep - 1, out)?;
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..) => {
            let items = items(array, row)?;
            out.push('[');
            for at in 0..items.len() {
                if at > 0 {
                    out.push(',');
                }
                write(&items, at, deep - 1, out)?;
            }
            out.push(']');
        }
        other => {
            let text = arrow_cast::display::array_value_to_string(array, row);
            quoted(&text.map_err(|e| Error::sample(format!("{other}: {e}")))?, out);
        }
    }
    Ok(())
}

/// Writes an object if the keys are text, otherwise a list of pairs.
fn map(array: &ArrayRef, row: usize, deep: usize, out: &mut String) -> Result<()> {
    let entries = array.as_map().value(row);
    let (keys, values) = (entries.column(0), entries.column(1));
    let texts = is_text(keys.data_type());
    out.push(if texts { '{' } else { '[' });
    for at in 0..entries.len() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(if texts { "" } else { "[" });
        write(keys, at, deep - 1, out)?;
        out.push(if texts { ':' } else { ',' });
        write(values, at, deep - 1, out)?;
        out.push_str(if texts { "" } else { "]" });
    }
    out.push(if texts { '}' } else { ']' });
    Ok(())
}

fn write_number(array: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
    let dtype = number(array.data_type()).unwrap_or(Dtype::F64);
    let one = lane(&array.slice(row, 1), &[], dtype, crate::open::args::Nulls::Auto)?;
    let data = &one.data[..];
    macro_rules! read {
        ($kind:ty) => {{
            let mut word = [0; size_of::<$kind>()];
            word.copy_from_slice(&data[..size_of::<$kind>()]);
            <$kind>::from_ne_bytes(word)
        }};
    }
    // JSON has no NaN or infinity.
    let float = |x: f64, out: &mut String| {
        if x.is_finite() {
            let _ = write!(out, "{x:?}");
        } else {
            out.push_str("null");
        }
    };
    let _ = match dtype {
        Dtype::Bool => write!(out, "{}", data[0] != 0),
        Dtype::U8 => write!(out, "{}", data[0]),
        Dtype::I8 => write!(out, "{}", data[0] as i8),
        Dtype::U16 => write!(out, "{}", read!(u16)),
        Dtype::I16 => write!(out, "{}", read!(i16)),
        Dtype::U32 => write!(out, "{}", read!(u32)),
        Dtype::I32 => write!(out, "{}", read!(i32)),
        Dtype::U64 => write!(out, "{}", read!(u64)),
        Dtype::I64 => write!(out, "{}", read!(i64)),
        Dtype::F32 if read!(f32).is_finite() => write!(out, "{:?}", read!(f32)),
        Dtype::F32 => write!(out, "null"),
        Dtype::F64 => {
            float(read!(f64), out);
            Ok(())
        }
        Dtype::F16 | Dtype::Bf16 => {
            float(f16::from_bits(read!(u16)).to_f64(), out);
            Ok(())
        }
    };
    Ok(())
}

fn quoted(text: &str, out: &mut String) {
    // Cannot fail: escaped text is always valid JSON.
    out.push_str(&serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned()));
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push('"');
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out.push('"');
}
