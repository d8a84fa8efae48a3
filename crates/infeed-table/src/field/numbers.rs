//! Converts columns to lanes: contiguous native numbers, ready to be packed into rows.

use crate::{
    field::ops::{self, Categories, Op},
    open::args::Nulls,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::Buffer;
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::DataType;
use half::bf16;
use infeed_core::{Dtype, Error, Result};

/// Why a cell has no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is null.
    Null,
    /// A category that is not in the list.
    Unknown,
    /// Too large or too small for the type.
    Fit,
    /// NaN, which the type cannot represent.
    Nan,
}

impl Fault {
    /// Describes the fault and how to fix it.
    pub(crate) fn words(self, column: &str, dtype: Dtype) -> String {
        match self {
            Fault::Null => format!(
                "column `{column}` is null here; give fill= a value for it, or leave such rows out with where="
            ),
            Fault::Unknown => format!(
                "column `{column}` has a value here that is not among its categories; add it, or set unknown= to a number"
            ),
            Fault::Fit => format!("the value of column `{column}` does not fit {dtype}; take a wider dtype"),
            Fault::Nan => format!(
                "column `{column}` is not a number here, which {dtype} cannot hold; give fill= a value"
            ),
        }
    }
}

/// A column in native numbers.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) data: Buffer,
    /// Elements without a number, ascending.
    pub(crate) faults: Vec<(u32, Fault)>,
}

/// Converts a column to numbers of a dtype, applying operations.
pub(crate) fn lane(array: &ArrayRef, ops: &[Op], dtype: Dtype, nulls: Nulls) -> Result<Lane> {
    match ops {
        [] => plain(array, None, dtype, nulls),
        [Op::Fill(value)] => plain(array, Some(*value), dtype, nulls),
        ops => worked(array, ops, dtype, nulls),
    }
}

fn arrow_of(dtype: Dtype) -> DataType {
    match dtype {
        Dtype::Bool => DataType::Boolean,
        Dtype::U8 => DataType::UInt8,
        Dtype::I8 => DataType::Int8,
        Dtype::U16 => DataType::UInt16,
        Dtype::I16 => DataType::Int16,
        Dtype::U32 => DataType::UInt32,
        Dtype::I32 => DataType::Int32,
        Dtype::U64 => DataType::UInt64,
        Dtype::I64 => DataType::Int64,
        Dtype::F16 => DataType::Float16,
        Dtype::Bf16 | Dtype::F32 => DataType::Float32,
        Dtype::F64 => DataType::Float64,
    }
}

/// Casts the array to numbers of an Arrow type. Values that do not fit become null.
fn numbers(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let fail = |e| Error::sample(format!("{} cannot become {to}: {e}", array.data_type()));
    // Times and dates cannot be cast to every number type directly.
    let array = match array.data_type() {
        kind if kind == to => return Ok(array.clone()),
        DataType::Date32 | DataType::Time32(_) => &cast(array, &DataType::Int32).map_err(fail)?,
        DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => {
            &cast(array, &DataType::Int64).map_err(fail)?
        }
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => &cast(array, &DataType::Float64).map_err(fail)?,
        // There is no direct cast from integers to half floats.
        kind if *to == DataType::Float16 && !kind.is_floating() => {
            &cast(array, &DataType::Float32).map_err(fail)?
        }
        _ => array,
    };
    cast_with_options(array, to, &CastOptions { safe: true, ..CastOptions::default() }).map_err(fail)
}

fn plain(array: &ArrayRef, fill: Option<f64>, dtype: Dtype, nulls: Nulls) -> Result<Lane> {
    let cast = numbers(array, &arrow_of(dtype))?;
    let put = |nan: bool| if nulls == Nulls::Auto && nan { Some(f64::NAN) } else { None };
    macro_rules! lane {
        ($kind:ty, $make:expr) => {
            finish::<$kind>(&cast, array, fill, fill.or(put(dtype.is_float())), $make)
        };
    }
    Ok(match dtype {
        Dtype::Bool => {
            let bits: &BooleanArray = cast.as_boolean();
            let mut values: Vec<u8> = bits.values().iter().map(u8::from).collect();
            let mut faults = vec![];
            for row in null_rows(&cast) {
                match fill {
                    Some(value) => values[row] = u8::from(value != 0.0),
                    None => faults.push((row as u32, Fault::Null)),
                }
            }
            Lane { data: Buffer::from_vec(values), faults }
        }
        Dtype::U8 => lane!(UInt8Type, |x| x as u8),
        Dtype::I8 => lane!(Int8Type, |x| x as i8),
        Dtype::U16 => lane!(UInt16Type, |x| x as u16),
        Dtype::I16 => lane!(Int16Type, |x| x as i16),
        Dtype::U32 => lane!(UInt32Type, |x| x as u32),
        Dtype::I32 => lane!(Int32Type, |x| x as i32),
        Dtype::U64 => lane!(UInt64Type, |x| x as u64),
        Dtype::I64 => lane!(Int64Type, |x| x as i64),
        Dtype::F16 => lane!(Float16Type, half::f16::from_f64),
        Dtype::F32 => lane!(Float32Type, |x| x as f32),
        Dtype::F64 => lane!(Float64Type, |x| x),
        Dtype::Bf16 => {
            let lane = lane!(Float32Type, |x| x as f32);
            let values: &[f32] = lane.data.typed_data();
            let values: Vec<bf16> = values.iter().map(|x| bf16::from_f32(*x)).collect();
            Lane { data: bytes_of_bf16(values), faults: lane.faults }
        }
    })
}

fn bytes_of_bf16(values: Vec<bf16>) -> Buffer {
    Buffer::from_vec(values.into_iter().map(bf16::to_bits).collect::<Vec<u16>>())
}

fn null_rows(array: &dyn Array) -> impl Iterator<Item = usize> + '_ {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    nulls.into_iter().flat_map(|nulls| (0..nulls.len()).filter(|row| nulls.is_null(*row)))
}

/// Replaces nulls by `put`, and NaN by `fill`.
fn finish<T: ArrowPrimitiveType>(
    cast: &ArrayRef,
    before: &ArrayRef,
    fill: Option<f64>,
    put: Option<f64>,
    make: impl Fn(f64) -> T::Native,
) -> Lane
where
    T::Native: PartialOrd,
{
    let array = cast.as_primitive::<T>();
    #[allow(clippy::eq_op)]
    let odd = |x: &T::Native| x.partial_cmp(x).is_none();
    let touched = fill.is_some() && T::DATA_TYPE.is_floating() && array.values().iter().any(odd);
    if array.null_count() == 0 && !touched {
        return Lane { data: array.values().inner().clone(), faults: vec![] };
    }
    let mut values = array.values().to_vec();
    let mut faults = vec![];
    if let Some(fill) = fill.filter(|_| touched) {
        let value = make(fill);
        values.iter_mut().filter(|x| odd(x)).for_each(|x| *x = value);
    }
    for row in null_rows(cast) {
        match put {
            _ if before.is_valid(row) => faults.push((row as u32, Fault::Fit)),
            Some(value) => values[row] = make(value),
            None => {
                values[row] = T::Native::default();
                faults.push((row as u32, Fault::Null));
            }
        }
    }
    Lane { data: Buffer::from_vec(values), faults }
}

/// The general case: computes everything in f64.
fn worked(array: &ArrayRef, ops: &[Op], dtype: Dtype, nulls: Nulls) -> Result<Lane> {
    let mut faults = vec![];
    let mut values = match ops.first() {
        Some(Op::Categories(categories)) => places(array, categories, &mut faults)?,
        _ => {
            let floats = numbers(array, &DataType::Float64)?;
            let mut values = floats.as_primitive::<Float64Type>().values().to_vec();
            null_rows(&floats).for_each(|row| values[row] = f64::NAN);
            values
        }
    };
    ops.iter().for_each(|op| ops::apply(op, &mut values));
    let known = !faults.is_empty();
    let limits = limits(dtype);
    let strict = nulls == Nulls::Error;
    if limits.is_some() || strict {
        for (row, value) in values.iter_mut().enumerate() {
            let null = array.is_null(row);
            let fault = match limits {
                _ if value.is_nan() && null && (strict || limits.is_some()) => Fault::Null,
                Some(_) if value.is_nan() => Fault::Nan,
                Some((min, max)) if *value < min || *value > max => Fault::Fit,
                _ => continue,
            };
            *value = 0.0;
            if !known || faults.binary_search_by_key(&(row as u32), |f| f.0).is_err() {
                faults.push((row as u32, fault));
            }
        }
        faults.sort_by_key(|fault| fault.0);
    }
    Ok(Lane { data: narrow(&values, dtype), faults })
}

/// Returns the smallest and largest value of an integer type.
fn limits(dtype: Dtype) -> Option<(f64, f64)> {
    Some(match dtype {
        Dtype::U8 | Dtype::Bool => (0.0, 255.0),
        Dtype::I8 => (-128.0, 127.0),
        Dtype::U16 => (0.0, 65_535.0),
        Dtype::I16 => (-32_768.0, 32_767.0),
        Dtype::U32 => (0.0, f64::from(u32::MAX)),
        Dtype::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        Dtype::U64 => (0.0, 18_446_744_073_709_549_568.0),
        Dtype::I64 => (i64::MIN as f64, 9_223_372_036_854_774_784.0),
        _ => return None,
    })
}

fn narrow(values: &[f64], dtype: Dtype) -> Buffer {
    macro_rules! to {
        ($kind:ty) => {
            Buffer::from_vec(values.iter().map(|x| *x as $kind).collect::<Vec<$kind>>())
        };
    }
    match dtype {
        Dtype::Bool => Buffer::from_vec(values.iter().map(|x| u8::from(*x != 0.0)).collect::<Vec<u8>>()),
        Dtype::U8 => to!(u8),
        Dtype::I8 => to!(i8),
        Dtype::U16 => to!(u16),
        Dtype::I16 => to!(i16),
        Dtype::U32 => to!(u32),
        Dtype::I32 => to!(i32),
        Dtype::U64 => to!(u64),
        Dtype::I64 => to!(i64),
        Dtype::F32 => to!(f32),
        Dtype::F64 => Buffer::from_vec(values.to_vec()),
        Dtype::F16 => {
            Buffer::from_vec(values.iter().map(|x| half::f16::from_f64(*x).to_bits()).collect::<Vec<u16>>())
        }
        Dtype::Bf16 => bytes_of_bf16(values.iter().map(|x| bf16::from_f64(*x)).collect()),
    }
}

/// Returns the indices of values in a list of categories. A null is treated like any other value that is not in it.
fn places(array: &ArrayRef, list: &Categories, faults: &mut Vec<(u32, Fault)>) -> Result<Vec<f64>> {
    let fail = |e| Error::sample(format!("{} has no categories: {e}", array.data_type()));
    let mut out = Vec::with_capacity(array.len());
    let mut put = |row: usize, place: Option<&u32>, null: bool| match (place, list.unknown) {
        (Some(place), _) => out.push(f64::from(*place)),
        (None, Some(unknown)) => out.push(unknown),
        (None, None) => {
            faults.push((row as u32, if null { Fault::Null } else { Fault::Unknown }));
            out.push(0.0);
        }
    };
    if crate::field::is_text(&crate::field::plain(array.data_type())) {
        let texts = cast(array, &DataType::LargeUtf8).map_err(fail)?;
        for (row, text) in texts.as_string::<i64>().iter().enumerate() {
            put(row, text.and_then(|text| list.texts.get(text)), text.is_none());
        }
    } else {
        let ints = numbers(array, &DataType::Int64)?;
        for (row, int) in ints.as_primitive::<Int64Type>().iter().enumerate() {
            put(row, int.and_then(|int| list.ints.get(&int)), int.is_none());
        }
    }
    Ok(out)
}
