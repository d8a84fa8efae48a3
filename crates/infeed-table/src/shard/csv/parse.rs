//! Parses cells into a column.

use super::CsvType;
use arrow_array::{
    ArrayRef, PrimitiveArray,
    builder::{BooleanBuilder, StringBuilder},
    types,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer};
use arrow_schema::DataType;
use infeed_core::{Dtype, Result};
use infeed_records::{
    csv,
    text::{Invalid, decode},
};
use std::sync::Arc;

/// Returns the Arrow type of a column.
pub(super) fn arrow_type(of: CsvType) -> DataType {
    match of {
        None => DataType::Utf8,
        Some(Dtype::Bool) => DataType::Boolean,
        Some(Dtype::U8) => DataType::UInt8,
        Some(Dtype::I8) => DataType::Int8,
        Some(Dtype::U16) => DataType::UInt16,
        Some(Dtype::I16) => DataType::Int16,
        Some(Dtype::U32) => DataType::UInt32,
        Some(Dtype::I32) => DataType::Int32,
        Some(Dtype::U64) => DataType::UInt64,
        Some(Dtype::I64) => DataType::Int64,
        Some(Dtype::F32) => DataType::Float32,
        // Half precision is rejected when types are given.
        Some(Dtype::F64 | Dtype::F16 | Dtype::Bf16) => DataType::Float64,
    }
}

/// A column under construction. Rows are added one after the other.
pub(super) enum CsvColumn {
    Text(StringBuilder, usize),
    Bool(BooleanBuilder, usize),
    Number { dtype: Dtype, data: MutableBuffer, valid: BooleanBufferBuilder },
}

impl CsvColumn {
    pub(super) fn new(of: CsvType, rows: usize) -> Self {
        match of {
            None => CsvColumn::Text(StringBuilder::with_capacity(rows, 16 * rows), 0),
            Some(Dtype::Bool) => CsvColumn::Bool(BooleanBuilder::with_capacity(rows), 0),
            Some(dtype) => CsvColumn::Number {
                dtype,
                data: MutableBuffer::from_len_zeroed(rows * dtype.size()),
                valid: BooleanBufferBuilder::new(rows),
            },
        }
    }

    /// Adds the cell of a row. An empty cell is a null, except for text.
    pub(super) fn put(&mut self, row: usize, cell: &[u8]) -> Result<()> {
        match self {
            CsvColumn::Text(out, len) => {
                out.append_value(decode(cell, Invalid::Refuse)?);
                *len = row + 1;
            }
            CsvColumn::Bool(out, len) => {
                let value = csv::parse(cell, Dtype::Bool)?.map(|bytes| bytes == [1]);
                out.append_option(value);
                *len = row + 1;
            }
            CsvColumn::Number { dtype, data, valid } => {
                let size = dtype.size();
                let is_there = !cell.trim_ascii().is_empty();
                if is_there {
                    csv::write(cell, *dtype, &mut data[row * size..][..size])?;
                }
                valid.append(is_there);
            }
        }
        Ok(())
    }

    /// Marks a row as invalid. A cell already added for it stays but is ignored.
    pub(super) fn lose(&mut self, row: usize) {
        match self {
            CsvColumn::Text(out, len) if *len <= row => {
                out.append_null();
                *len = row + 1;
            }
            CsvColumn::Bool(out, len) if *len <= row => {
                out.append_null();
                *len = row + 1;
            }
            CsvColumn::Number { valid, .. } if valid.len() <= row => valid.append(false),
            _ => {}
        }
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            CsvColumn::Text(mut out, _) => Arc::new(out.finish()),
            CsvColumn::Bool(mut out, _) => Arc::new(out.finish()),
            CsvColumn::Number { dtype, data, mut valid } => {
                let nulls = Some(NullBuffer::new(valid.finish())).filter(|nulls| nulls.null_count() > 0);
                numbers(dtype, data.into(), nulls)
            }
        }
    }
}

/// Creates an array of numbers.
fn numbers(dtype: Dtype, data: Buffer, nulls: Option<NullBuffer>) -> ArrayRef {
    macro_rules! arrays {
        ($($dtype:ident $type:ident),*) => {
            match dtype {
                $(Dtype::$dtype => Arc::new(PrimitiveArray::<types::$type>::new(data.into(), nulls)),)*
                _ => Arc::new(PrimitiveArray::<types::Float64Type>::new(data.into(), nulls)),
            }
        };
    }
    arrays!(U8 UInt8Type, I8 Int8Type, U16 UInt16Type, I16 Int16Type, U32 UInt32Type, I32 Int32Type, U64 UInt64Type,
        I64 Int64Type, F32 Float32Type)
}
