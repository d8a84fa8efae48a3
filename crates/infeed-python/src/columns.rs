//! What tables have, asked before a pipeline is made of them.

use crate::errors::raise;
use infeed::{
    Error, Result,
    store::{Found, find},
    table,
};
use pyo3::prelude::*;
use serde_json::{Map, Value};

/// The files and folders of paths as users write them.
fn names(paths: &[String]) -> Result<Vec<String>> {
    Ok(find(paths)?.into_iter().map(|(Found::File(name) | Found::Folder(name))| name).collect())
}

fn kind_of(format: &str, names: &[String]) -> Result<String> {
    match (format, names.first()) {
        ("auto", Some(first)) => table::kind_of(first).map(str::to_owned),
        _ => Ok(format.to_owned()),
    }
}

fn object(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|e| Error::argument(format!("arguments: {e}")))
}

/// The format of a table.
#[pyfunction]
pub(crate) fn table_kind(py: Python<'_>, paths: Vec<String>) -> PyResult<String> {
    py.detach(|| kind_of("auto", &names(&paths)?)).map_err(raise)
}

/// Rows, blocks and fields of a table, as JSON.
#[pyfunction]
pub(crate) fn table_info(py: Python<'_>, format: &str, paths: Vec<String>, args: &str) -> PyResult<String> {
    py.detach(|| {
        let names = names(&paths)?;
        Ok(table::info(&kind_of(format, &names)?, &names, &object(args)?)?.to_string())
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
        let names = names(&paths)?;
        let kind = kind_of(format, &names)?;
        Ok(table::column_stats(&kind, &names, &object(args)?, &columns, &categories, &object(ops)?)?
            .to_string())
    })
    .map_err(raise)
}
