//! Tests of sources over generated files.

mod arrow;
mod avro;
mod bad;
mod cache;
mod disk;
mod fields;
mod filter;
mod matrix;
mod nested;
mod parquet;
mod sqlite;
mod stores;

use crate::TableSource;
use ::parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use arrow_array::{ArrayRef, RecordBatch};
use infeed_core::{Record, Result, Source, Store, Value};
use serde_json::Value as Json;
use std::{fs::File, path::Path, sync::Arc};

/// Writes a Parquet file with row groups of this many rows.
pub(super) fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>, group: usize) -> String {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let mut out =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    out.write(&batch).unwrap();
    out.close().unwrap();
    path.display().to_string()
}

pub(super) fn open(path: &str, args: Json) -> Result<TableSource> {
    opened("parquet", &[path.to_owned()], &args)
}

/// Opens local files as a table.
pub(super) fn opened(format: &str, paths: &[String], args: &Json) -> Result<TableSource> {
    crate::open_table(&disk(), format, paths, args.as_object().unwrap())
}

pub(super) fn disk() -> Arc<dyn Store> {
    Arc::new(disk::Disk::default())
}

pub(super) fn names(fields: &[&str]) -> Vec<Arc<str>> {
    fields.iter().map(|name| Arc::from(*name)).collect()
}

/// Returns the values of one field in these rows.
pub(super) fn fetch(source: &TableSource, rows: &[u64], field: &str) -> Result<Vec<Value>> {
    let records: Vec<Record> = source.fetch(rows, &names(&[field]))?;
    Ok(records.into_iter().map(|mut record| record.fields.remove(0)).collect())
}

/// Formats a value of any type as text.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => {
            let each = tensor.dtype.size();
            let one = |bytes: &[u8]| match tensor.dtype {
                infeed_core::Dtype::Bool | infeed_core::Dtype::U8 => bytes[0].to_string(),
                infeed_core::Dtype::I32 => i32::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
                infeed_core::Dtype::I64 => i64::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
                infeed_core::Dtype::F32 => f32::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
                infeed_core::Dtype::F64 => f64::from_ne_bytes(bytes.try_into().unwrap()).to_string(),
                other => format!("{other} {bytes:?}"),
            };
            let all: Vec<String> = tensor.data.chunks(each).map(one).collect();
            if tensor.shape.is_empty() { all.concat() } else { format!("[{}]", all.join(" ")) }
        }
        Value::Text(text) | Value::Json(text) => text.clone(),
        Value::Masks(_) | Value::Boxes(_) | Value::Points(_) => panic!("tables hold no {}", value.what()),
        Value::Bytes(bytes) => format!("{bytes:?}"),
        Value::Missing => "missing".to_owned(),
        Value::Image(_) => "image".to_owned(),
    }
}

pub(super) fn all(source: &TableSource, field: &str) -> Vec<String> {
    let rows: Vec<u64> = (0..source.rows()).collect();
    fetch(source, &rows, field).unwrap().iter().map(words).collect()
}
