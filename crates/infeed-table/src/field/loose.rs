//! Values of fields whose size varies from row to row.

use crate::{
    field::{ColumnForm, Field, cell_files::CellFiles, json, numbers::lane},
    open::args::Nulls,
    shard::limit::BlockLimit,
};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use infeed_core::{Bytes, Dtype, Error, Result, Store, Tensor, Value};

/// The fill value for a null.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filling {
    Number(f64),
    Text(String),
}

/// A part of a column's buffer, shared without a copy.
struct Lent(Buffer);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Below this many bytes a copy is cheaper than keeping the block's buffer alive.
const COPY: usize = 512;

/// Where a row is, for cells that name files.
pub(crate) struct Beside<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) shard: &'a str,
    pub(crate) files: &'a CellFiles,
    pub(crate) limit: &'a BlockLimit,
}

/// Returns the value of one row.
pub(crate) fn value(array: &ArrayRef, row: usize, field: &Field, beside: &Beside<'_>) -> Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Missing);
    }
    Ok(match field.how {
        ColumnForm::Text => Value::Text(checked_text(array, row)?),
        ColumnForm::Bytes => Value::Bytes(bytes(array, row)?),
        ColumnForm::List(dtype) => Value::Tensor(list(array, row, dtype)?),
        ColumnForm::Json => Value::Json(json::cell(array, row)?),
        ColumnForm::File => file(array, row, beside)?,
        ColumnForm::Number(_) | ColumnForm::Fixed(..) => {
            return Err(Error::Internal { what: "numbers are stored in rows".to_owned() });
        }
    })
}

/// Returns text of any of Arrow's string types.
pub(crate) fn text(array: &dyn Array, row: usize) -> Result<&str> {
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        other => return Err(Error::sample(format!("{other} is not text"))),
    })
}

/// Copies the text of a cell and validates the copy: the column may lie in a mapped file, which others may have changed
/// since Arrow validated it.
fn checked_text(array: &dyn Array, row: usize) -> Result<String> {
    String::from_utf8(text(array, row)?.as_bytes().to_vec())
        .map_err(|_| Error::sample("the text is no longer UTF-8: the file was changed while it was read"))
}

/// Returns the bytes of a cell, shared with the block if they are many.
fn bytes(array: &ArrayRef, row: usize) -> Result<Bytes> {
    let lent = |all: &Buffer, start: usize, len: usize| {
        if len < COPY {
            return Bytes::copy_from_slice(&all[start..start + len]);
        }
        Bytes::from_owner(Lent(all.slice_with_length(start, len)))
    };
    Ok(match array.data_type() {
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            let (start, end) = (array.value_offsets()[row], array.value_offsets()[row + 1]);
            lent(array.values(), start as usize, (end - start) as usize)
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            let (start, end) = (array.value_offsets()[row], array.value_offsets()[row + 1]);
            lent(array.values(), start as usize, (end - start) as usize)
        }
        DataType::BinaryView => Bytes::copy_from_slice(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => Bytes::copy_from_slice(array.as_fixed_size_binary().value(row)),
        other => return Err(Error::sample(format!("{other} is not binary"))),
    })
}

/// Returns the items of a list.
pub(crate) fn items(array: &dyn Array, row: usize) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::ListView(_) => array.as_list_view::<i32>().value(row),
        DataType::LargeListView(_) => array.as_list_view::<i64>().value(row),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
        other => return Err(Error::sample(format!("{other} is not a list"))),
    })
}

fn list(array: &ArrayRef, row: usize, dtype: Dtype) -> Result<Tensor> {
    let items = items(array, row)?;
    let numbers = lane(&items, &[], dtype, Nulls::Auto)?;
    if let Some((at, why)) = numbers.faults.first() {
        return Err(Error::sample(format!("item {at} of the list: {}", why.words("the list", dtype))));
    }
    let data = &numbers.data[..items.len() * dtype.size()];
    Tensor::new(dtype, vec![items.len()], Bytes::copy_from_slice(data))
}

/// Returns the bytes, or those of the file that the path names.
fn file(array: &ArrayRef, row: usize, beside: &Beside<'_>) -> Result<Value> {
    let parts = array.as_struct();
    let part = |name: &str| parts.column_by_name(name).filter(|part| part.is_valid(row));
    if let Some(held) = part("bytes") {
        return Ok(Value::Bytes(bytes(held, row)?));
    }
    let Some(path) = part("path") else { return Ok(Value::Missing) };
    let path = text(path, row)?;
    beside.files.read(beside.store, beside.shard, path, beside.limit).map(Value::Bytes)
}
