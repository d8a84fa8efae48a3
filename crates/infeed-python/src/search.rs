//! Tells Python's log that much has to be read before the first batch.

use infeed::format::{Search, on_search};
use pyo3::prelude::*;
use std::sync::Arc;

/// Lets the logger `infeed` hear of long searches for rows.
pub(crate) fn log_searches() {
    on_search(Some(Arc::new(|search: &Search| {
        // Once for each search, by the thread that opens the data: others may not wait for the interpreter.
        if search.done() == 0 {
            // A log that cannot be written is no reason to fail.
            let _ = Python::attach(|py| log(py, &words(search)));
        }
    })));
}

fn log(py: Python<'_>, words: &str) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("infeed",))?;
    logger.call_method1("warning", (words,))?;
    Ok(())
}

fn words(search: &Search) -> String {
    format!(
        "{} remote tars have no index: {:.1} GB are read to find their rows, before the first batch. What is found is kept in the \
         cache folder. `infeed index PATTERN` does it once for everybody; infeed.tar(..., stream=True) begins at once and reads \
         from front to back",
        search.shards,
        search.bytes as f64 / 1e9
    )
}
