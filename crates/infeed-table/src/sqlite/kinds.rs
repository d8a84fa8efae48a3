//! Types of columns. SQLite types values, not columns: what a column was declared as is checked against each value.

use super::{Pool, quote};
use arrow_array::{
    ArrayRef,
    builder::{Float64Builder, Int64Builder, LargeBinaryBuilder, LargeStringBuilder},
};
use arrow_schema::DataType;
use infeed_core::Result;
use rusqlite::types::ValueRef;
use std::sync::Arc;

/// What all values of a column are, nulls apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Real,
    Text,
    Blob,
}

/// Values that are looked at where the declaration says nothing.
const LOOK: usize = 1000;

impl Kind {
    pub(super) fn arrow(self) -> DataType {
        match self {
            Kind::Int => DataType::Int64,
            Kind::Real => DataType::Float64,
            Kind::Text => DataType::LargeUtf8,
            Kind::Blob => DataType::LargeBinary,
        }
    }

    /// By SQLite's rules of affinity; `None` where values of any type are usual.
    fn declared(text: &str) -> Option<Kind> {
        let text = text.to_ascii_uppercase();
        let has = |part: &str| text.contains(part);
        if has("INT") {
            Some(Kind::Int)
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Some(Kind::Text)
        } else if has("BLOB") {
            Some(Kind::Blob)
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Some(Kind::Real)
        } else {
            None
        }
    }
}

/// The types of all columns.
pub(super) fn find(pool: &Pool, from: &str, names: &[String]) -> Result<Vec<Kind>> {
    let declared = pool.declared(from)?;
    let mut out = vec![];
    for name in names {
        let known = declared.iter().find(|(own, _)| own == name).and_then(|(_, text)| Kind::declared(text));
        out.push(match known {
            Some(kind) => kind,
            None => look(pool, from, name)?,
        });
    }
    Ok(out)
}

/// The narrowest type that fits the first values.
fn look(pool: &Pool, from: &str, name: &str) -> Result<Kind> {
    let name = quote(name);
    let sql = format!("SELECT {name} FROM {from} WHERE {name} IS NOT NULL LIMIT {LOOK}");
    let mut kind = None;
    pool.each(&sql, &[], |row| {
        let own = match row.get_ref(0)? {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(_) => Kind::Int,
            ValueRef::Real(_) => Kind::Real,
            ValueRef::Text(_) => Kind::Text,
            ValueRef::Blob(_) => Kind::Blob,
        };
        kind = match (kind, own) {
            (None | Some(Kind::Int), Kind::Int) => Some(Kind::Int),
            (None | Some(Kind::Int | Kind::Real), Kind::Int | Kind::Real) => Some(Kind::Real),
            (Some(kind), _) => Some(kind),
            (None, own) => Some(own),
        };
        Ok(None)
    })?;
    Ok(kind.unwrap_or(Kind::Text))
}

/// A column that grows.
#[derive(Debug)]
pub(super) enum Column {
    Int(Int64Builder),
    Real(Float64Builder),
    Text(LargeStringBuilder),
    Blob(LargeBinaryBuilder),
}

impl Column {
    pub(super) fn new(kind: Kind, rows: usize) -> Self {
        match kind {
            Kind::Int => Column::Int(Int64Builder::with_capacity(rows)),
            Kind::Real => Column::Real(Float64Builder::with_capacity(rows)),
            Kind::Text => Column::Text(LargeStringBuilder::new()),
            Kind::Blob => Column::Blob(LargeBinaryBuilder::new()),
        }
    }

    /// Adds a value; says what is wrong with it otherwise.
    pub(super) fn push(&mut self, value: ValueRef<'_>) -> Result<(), String> {
        match (self, value) {
            (Column::Int(out), ValueRef::Null) => out.append_null(),
            (Column::Real(out), ValueRef::Null) => out.append_null(),
            (Column::Text(out), ValueRef::Null) => out.append_null(),
            (Column::Blob(out), ValueRef::Null) => out.append_null(),
            (Column::Int(out), ValueRef::Integer(x)) => out.append_value(x),
            (Column::Real(out), ValueRef::Real(x)) => out.append_value(x),
            (Column::Real(out), ValueRef::Integer(x)) => out.append_value(x as f64),
            (Column::Text(out), ValueRef::Text(bytes)) => {
                out.append_value(std::str::from_utf8(bytes).map_err(|e| format!("is not UTF-8: {e}"))?);
            }
            (Column::Blob(out), ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => out.append_value(bytes),
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
            Column::Int(_) => "whole numbers",
            Column::Real(_) => "numbers",
            Column::Text(_) => "text",
            Column::Blob(_) => "blobs",
        }
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            Column::Int(mut out) => Arc::new(out.finish()),
            Column::Real(mut out) => Arc::new(out.finish()),
            Column::Text(mut out) => Arc::new(out.finish()),
            Column::Blob(mut out) => Arc::new(out.finish()),
        }
    }
}
