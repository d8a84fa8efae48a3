//! Conversion of errors to Python exceptions.

use infeed::Error;
use pyo3::{
    exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyTimeoutError, PyValueError},
    prelude::*,
};

/// The Python exception for an error: a missing path is a `FileNotFoundError`, a bad argument a `ValueError`, and the
/// rest are the classes of `infeed.errors`.
pub(crate) fn raise(error: Error) -> PyErr {
    // The names of shards stay whole in the attributes of exceptions: programs compare them.
    let text = infeed::shown(&error.to_string()).into_owned();
    match error {
        Error::NotFound { .. } => PyFileNotFoundError::new_err(text),
        Error::Argument { .. } => PyValueError::new_err(text),
        // With the errno, Python picks the right subclass of OSError, for example PermissionError.
        Error::Io { source, .. } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, text)),
            None => PyOSError::new_err(text),
        },
        Error::State { .. } => ours("StateError", (text,)),
        Error::Plan { .. } => ours("PlanError", (text,)),
        Error::Format { shard, offset, .. } => ours("FormatError", (text, shard, offset)),
        Error::Sample { at, .. } => ours("SampleError", (text, at.shard, at.row, at.key, at.field)),
        Error::Unreadable { at, .. } => ours("UnreadableError", (text, at.shard, at.row, at.key, at.field)),
        Error::Changed { path, .. } => ours("DataChangedError", (text, path)),
        Error::Stalled { .. } => PyTimeoutError::new_err(text),
        Error::TooManyBad { count, limit, .. } => ours("TooManyBadSamples", (text, count, limit)),
        _ => PyRuntimeError::new_err(text),
    }
}

/// An exception of `infeed.errors`.
fn ours<A>(name: &str, args: A) -> PyErr
where
    A: for<'py> pyo3::call::PyCallArgs<'py>,
{
    Python::attach(|py| {
        let made =
            py.import("infeed.errors").and_then(|m| m.getattr(name)).and_then(|class| class.call1(args));
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    })
}
