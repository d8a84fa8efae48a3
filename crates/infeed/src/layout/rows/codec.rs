//! Parses the bytes of a row into fields.

use infeed_core::{Bytes, Error, Record, Result, format::Fields};
use infeed_records::Guess;
use std::{fmt::Debug, sync::Arc};

/// The bytes of a row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Its number in the file.
    pub(crate) number: u64,
    /// The line where it begins, if known.
    pub(crate) line: Option<u64>,
    pub(crate) bytes: Bytes,
}

/// The first rows of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstRows {
    pub(crate) titles: Bytes,
    pub(crate) rows: Vec<Row>,
}

/// The fields of a file as guessed from its first rows.
pub(crate) type Sketch = Vec<(Arc<str>, Guess)>;

/// The settled fields of rows.
pub(crate) trait RowSchema: Debug + Send + Sync {
    fn fields(&self) -> Fields;

    /// Returns the codec that parses the rows of a file.
    fn codec(&self, titles: &[u8]) -> Result<Arc<dyn RowCodec>>;
}

/// Parses the rows of a file into records.
pub(crate) trait RowCodec: Debug + Send + Sync {
    /// Appends a record, or an error, for each row.
    fn records(&self, rows: &[Row], fields: &[Arc<str>], out: &mut Vec<Result<Record>>);

    /// Whether [`RowCodec::fill`] can write this field.
    fn fills(&self, _field: &str) -> bool {
        false
    }

    /// Writes fields of rows to their places: row `rows[i]` goes to `places[i]` of each of `out`.
    fn fill(&self, _: &[Row], _places: &[usize], _fields: &[Arc<str>], _out: &mut [&mut [u8]]) -> Result<()> {
        Err(Error::Internal { what: "this format cannot fill batches".to_owned() })
    }
}

/// Adds the line number to an error. Blank lines before a row belong to it.
pub(crate) fn numbered(row: &Row, error: Error) -> Error {
    let Some(line) = row.line else { return error };
    let blank = row.bytes.iter().take_while(|b| b.is_ascii_whitespace()).filter(|b| **b == b'\n').count();
    match error {
        Error::Sample { at, what } => {
            Error::Sample { at, what: format!("line {}: {what}", line + blank as u64) }
        }
        other => other,
    }
}
