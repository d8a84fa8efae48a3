//! Column types. SQLite types values, not columns, so each value is checked against the declared type of its column.

use super::{Connections, quote};
use arrow_array::{
    ArrayRef,
    builder::{Float64Builder, Int64Builder, LargeBinaryBuilder, LargeStringBuilder},
};
use arrow_schema::DataType;
use infeed_core::Result;
use rusqlite::types::ValueRef;
use std::sync::Arc;

/// The type of all values of a column, except nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlType {
    Int,
    Real,
    Text,
    Blob,
}

/// Number of values examined if the declaration does not give a type.
const LOOK: usize = 1000;

impl SqlType {
    pub(super) fn arrow(self) -> DataType {
        match self {
            SqlType::Int => DataType::Int64,
            SqlType::Real => DataType::Float64,
            SqlType::Text => DataType::LargeUtf8,
            SqlType::Blob => DataType::LargeBinary,
        }
    }

    /// Applies SQLite's affinity rules; `None` where values of any type are common.
    fn declared(text: &str) -> Option<SqlType> {
        let text = text.to_ascii_uppercase();
        let has = |part: &str| text.contains(part);
        if has("INT") {
            Some(SqlType::Int)
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Some(SqlType::Text)
        } else if has("BLOB") {
            Some(SqlType::Blob)
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Some(SqlType::Real)
        } else {
            None
        }
    }
}

/// Determines the types of all columns.
pub(super) fn find(pool: &Connections, from: &str, names: &[String]) -> Result<Vec<SqlType>> {
    let declared = pool.declared(from)?;
    let mut out = vec![];
    for name in names {
        let known =
            declared.iter().find(|(own, _)| own == name).and_then(|(_, text)| SqlType::declared(text));
        out.push(match known {
            Some(kind) => kind,
            None => look(pool, from, name)?,
        });
    }
    Ok(out)
}

/// Returns the narrowest type that fits the first values.
fn look(pool: &Connections, from: &str, name: &str) -> Result<SqlType> {
    let name = quote(name);
    let sql = format!("SELECT {name} FROM {from} WHERE {name} IS NOT NULL LIMIT {LOOK}");
    let mut kind = None;
    pool.each(&sql, &[], |row| {
        let own = match row.get_ref(0)? {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(_) => SqlType::Int,
            ValueRef::Real(_) => SqlType::Real,
            ValueRef::Text(_) => SqlType::Text,
            ValueRef::Blob(_) => SqlType::Blob,
        };
        kind = match (kind, own) {
            (None | Some(SqlType::Int), SqlType::Int) => Some(SqlType::Int),
            (None | Some(SqlType::Int | SqlType::Real), SqlType::Int | SqlType::Real) => Some(SqlType::Real),
            (Some(kind), _) => Some(kind),
            (None, own) => Some(own),
        };
        Ok(None)
    })?;
    Ok(kind.unwrap_or(SqlType::Text))
}

/// A column under construction.
#[derive(Debug)]
pub(super) enum SqlColumn {
    Int(Int64Builder),
    Real(Float64Builder),
    Text(LargeStringBuilder),
    Blob(LargeBinaryBuilder),
}

impl SqlColumn {
    pub(super) fn new(kind: SqlType, rows: usize) -> Self {
        match kind {
            SqlType::Int => SqlColumn::Int(Int64Builder::with_capacity(rows)),
            SqlType::Real => SqlColumn::Real(Float64Builder::with_capacity(rows)),
            SqlType::Text => SqlColumn::Text(LargeStringBuilder::new()),
            SqlType::Blob => SqlColumn::Blob(LargeBinaryBuilder::new()),
        }
    }

    /// Adds a value, or says what is wrong with it.
    pub(super) fn push(&mut self, value: ValueRef<'_>) -> Result<(), String> {
        match (self, value) {
            (SqlColumn::Int(out), ValueRef::Null) => out.append_null(),
            (SqlColumn::Real(out), ValueRef::Null) => out.append_null(),
            (SqlColumn::Text(out), ValueRef::Null) => out.append_null(),
            (SqlColumn::Blob(out), ValueRef::Null) => out.append_null(),
            (SqlColumn::Int(out), ValueRef::Integer(x)) => out.append_value(x),
            (SqlColumn::Real(out), ValueRef::Real(x)) => out.append_value(x),
            (SqlColumn::Real(out), ValueRef::Integer(x)) => out.append_value(x as f64),
            (SqlColumn::Text(out), ValueRef::Text(bytes)) => {
                out.append_value(std::str::from_utf8(bytes).map_err(|e| format!("is not UTF-8: {e}"))?);
            }
            (SqlColumn::Blob(out), ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => out.append_value(bytes),
            (column, value) => {
                return Err(format!(
                    "is {} and the column has {}: cast it in a query=, or correct the value",
                    value.data_type(),
                    column.words()
                ));
            }
        }
        Ok(())
    }

    fn words(&self) -> &'static str {
        match self {
            SqlColumn::Int(_) => "whole numbers",
            SqlColumn::Real(_) => "numbers",
            SqlColumn::Text(_) => "text",
            SqlColumn::Blob(_) => "blobs",
        }
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            SqlColumn::Int(mut out) => Arc::new(out.finish()),
            SqlColumn::Real(mut out) => Arc::new(out.finish()),
            SqlColumn::Text(mut out) => Arc::new(out.finish()),
            SqlColumn::Blob(mut out) => Arc::new(out.finish()),
        }
    }
}
