//! The index of the rows of many files.

use crate::layout::rows::{Row, RowCodec, RowPlaces, RowSchema};
use infeed_core::{Bytes, Error, FieldSpec, Index, Indices, Record, Result, Sums, format::Fields};
use std::{ops::Range, sync::Arc};

/// The offsets of the rows of many files, and the codecs that parse them.
#[derive(Debug)]
pub(crate) struct RowSet {
    schema: Arc<dyn RowSchema>,
    rows: Sums<u64>,
    files: Vec<File>,
}

/// One file.
#[derive(Debug, Clone)]
struct File {
    schema: Arc<dyn RowSchema>,
    found: RowPlaces,
    /// `None` if there are no rows.
    codec: Option<Arc<dyn RowCodec>>,
}

impl RowSet {
    pub(crate) fn new(schema: Arc<dyn RowSchema>, files: usize) -> Self {
        RowSet { schema, rows: Sums::with_capacity(files), files: Vec::with_capacity(files) }
    }

    pub(crate) fn push(&mut self, found: RowPlaces, codec: Option<Arc<dyn RowCodec>>) {
        self.rows.push(found.rows());
        self.files.push(File { schema: Arc::clone(&self.schema), found, codec });
    }

    /// Returns the index of the first file.
    pub(super) fn only(mut self) -> Option<Arc<dyn Index>> {
        self.files.pop().map(|file| Arc::new(file) as Arc<dyn Index>)
    }
}

impl Indices for RowSet {
    fn rows(&self) -> &Sums<u64> {
        &self.rows
    }

    fn lend(&self, shard: usize, with: &mut dyn FnMut(&dyn Index)) {
        if let Some(file) = self.files.get(shard) {
            with(file);
        }
    }

    fn fields(&self) -> Vec<(usize, Fields)> {
        vec![(0, self.schema.fields())]
    }

    fn ordered(&self) -> bool {
        true
    }

    fn damage(&self) -> Vec<(usize, String)> {
        vec![]
    }

    fn fills(&self, field: &str) -> bool {
        let codecs = self.files.iter().filter_map(|file| file.codec.as_ref());
        codecs.into_iter().all(|codec| codec.fills(field)) && self.rows.total() > 0
    }
}

impl File {
    fn codec(&self) -> Result<&dyn RowCodec> {
        self.codec.as_deref().ok_or_else(|| Error::argument("there are no rows in this shard"))
    }

    fn bytes_of(&self, rows: &[u64], bytes: Vec<Bytes>) -> Vec<Row> {
        let row = |(number, bytes): (&u64, Bytes)| Row {
            number: *number,
            line: self.found.line_of(*number),
            bytes,
        };
        rows.iter().zip(bytes).map(row).collect()
    }
}

impl Index for File {
    fn rows(&self) -> u64 {
        self.found.rows()
    }

    fn fields(&self) -> Vec<(Arc<str>, FieldSpec)> {
        self.schema.fields()
    }

    fn key(&self, row: u64) -> String {
        row.to_string()
    }

    fn row_bytes(&self, row: u64, _: &[Arc<str>]) -> u64 {
        self.found.len(row)
    }

    fn ranges(&self, rows: &[u64], _: &[Arc<str>]) -> Result<Vec<Range<u64>>> {
        let range = |row: &u64| {
            let lost = || Error::argument(format!("there is no row {row}: there are {}", self.found.rows()));
            self.found.range(*row).ok_or_else(lost)
        };
        rows.iter().map(range).collect()
    }

    fn cut(&self, rows: &[u64], fields: &[Arc<str>], bytes: Vec<Bytes>) -> Result<Vec<Record>> {
        let mut out = Vec::with_capacity(rows.len());
        self.codec()?.records(&self.bytes_of(rows, bytes), fields, &mut out);
        out.into_iter().collect()
    }

    fn fills(&self, field: &str) -> bool {
        self.codec.as_ref().is_some_and(|codec| codec.fills(field))
    }

    fn fill(
        &self,
        rows: &[u64],
        places: &[usize],
        fields: &[Arc<str>],
        bytes: Vec<Bytes>,
        out: &mut [&mut [u8]],
    ) -> Result<()> {
        self.codec()?.fill(&self.bytes_of(rows, bytes), places, fields, out)
    }
}
