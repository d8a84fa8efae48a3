//! Files that the columns of a stream name.
//!
//! A row goes through the stream with the path in place of the file, and the file is read when the row is handed out. So a
//! shuffle buffer holds paths, and a rank reads the files of its own rows only.

use super::{FileColumn, files::Files};
use infeed_core::{Begin, Error, Flow, Result, Spec, Store, Stream, StreamRow, format::Fields};
use std::sync::Arc;

/// A stream whose records have the files that its columns name.
#[derive(Debug)]
pub struct LoadedStream {
    inner: Arc<dyn Stream>,
    files: Arc<Files>,
}

impl LoadedStream {
    /// Adds the files that these columns name. `store` has the files.
    pub fn new(inner: Arc<dyn Stream>, store: Arc<dyn Store>, columns: Vec<FileColumn>) -> Self {
        LoadedStream { inner, files: Arc::new(Files::new(store, columns)) }
    }
}

impl Stream for LoadedStream {
    fn spec(&self) -> &Spec {
        self.inner.spec()
    }

    fn parts(&self) -> u64 {
        self.inner.parts()
    }

    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>> {
        let inner = self.inner.start(parts)?;
        Ok(Box::new(LoadedFlow { inner, files: Arc::clone(&self.files) }))
    }

    fn begin(&self, at: &Begin<'_>) -> Result<(Box<dyn Flow>, u64)> {
        let (inner, row) = self.inner.begin(at)?;
        Ok((Box::new(LoadedFlow { inner, files: Arc::clone(&self.files) }), row))
    }

    fn finish(&self, row: &mut StreamRow, fields: &[Arc<str>]) {
        let Ok(record) = &mut row.record else { return };
        let shard = |_: usize| row.shard.to_string();
        let below = self.files.below(fields);
        let record = std::mem::take(record);
        let read = self.files.read(fields, &below, vec![record], &shard);
        let lost = || Error::Internal { what: "a row of a stream has no record".to_owned() };
        row.record = read.and_then(|mut records| records.pop().ok_or_else(lost));
    }

    fn mark(&self, epoch: u64, row: u64) -> Option<String> {
        self.inner.mark(epoch, row)
    }

    fn fields_of_states(&self) -> Fields {
        self.inner.fields_of_states()
    }

    fn identity(&self) -> String {
        self.inner.identity()
    }

    fn runs_user_code(&self) -> bool {
        self.inner.runs_user_code()
    }

    fn set_largest_row(&self, bytes: u64) {
        self.inner.set_largest_row(bytes);
        self.files.set_limit(bytes);
    }

    fn describe(&self) -> String {
        format!("{}, with {}", self.inner.describe(), self.files.describe())
    }
}

/// A running stream. Its records have the fields that files are read for.
#[derive(Debug)]
struct LoadedFlow {
    inner: Box<dyn Flow>,
    files: Arc<Files>,
}

impl Flow for LoadedFlow {
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>> {
        self.inner.next(&self.files.below(fields))
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        self.inner.skip(rows)
    }

    fn bad(&mut self) -> Vec<(u64, Error)> {
        self.inner.bad()
    }
}
