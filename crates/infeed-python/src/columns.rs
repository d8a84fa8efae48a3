//! Information about tables, before a pipeline is made of them.

use crate::errors::raise;
use infeed::{Error, Result, store::Stores, table};
use infeed_core::Store;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use std::sync::Arc;

fn kind_of(store: &Arc<dyn Store>, format: &str, paths: &[String]) -> Result<String> {
    match (format, paths.first()) {
        ("auto", Some(first)) => table::kind_of(store, first).map(str::to_owned),
        _ => Ok(format.to_owned()),
    }
}

fn object(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|e| Error::argument(format!("arguments: {e}")))
}

/// The format of a table.
#[pyfunction]
pub(crate) fn table_kind(py: Python<'_>, paths: Vec<String>) -> PyResult<String> {
    py.detach(|| kind_of(&Stores::shared(), "auto", &paths)).map_err(raise)
}

/// Rows, blocks and fields of a table, as JSON.
#[pyfunction]
pub(crate) fn table_info(py: Python<'_>, format: &str, paths: Vec<String>, args: &str) -> PyResult<String> {
    py.detach(|| {
        let store = Stores::shared();
        Ok(table::info(&store, &kind_of(&store, format, &paths)?, &paths, &object(args)?)?.to_string())
    })
    .map_err(raise)
}

/// Statistics of columns, as JSON.
#[pyfunction]
pub(crate) fn column_stats(
    py: Python<'_>,
    format: &str,
    paths: Vec<String>,
    args: &str,
    columns: Vec<String>,
    categories: Vec<String>,
    ops: &str,
) -> PyResult<String> {
    py.detach(|| {
        let store = Stores::shared();
        let kind = kind_of(&store, format, &paths)?;
        let (args, ops) = (object(args)?, object(ops)?);
        Ok(table::column_stats(&store, &kind, &paths, &args, &columns, &categories, &ops)?.to_string())
    })
    .map_err(raise)
}
