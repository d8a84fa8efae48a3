//! Files that columns name: `captions.csv` with a column of paths, and the images beside it.
//!
//! Records of the source below have a field per file, which is read together with them. Paths come from data and are not
//! trusted: [`Store::read_below`](infeed_core::Store::read_below) reads only what lies below a folder.

mod column;
mod files;
mod stream;

pub use column::{FileColumn, stored};
pub use stream::LoadedStream;

use files::Files;
use infeed_core::{Cache, Error, FieldSpec, Record, Result, Source, Spec, Store, format::Fields};
use std::sync::Arc;

/// A source whose records have the files that its columns name.
///
/// Everything else is that of the source below: rows, keys, shards, blocks, and what states must agree with.
#[derive(Debug)]
pub struct Loaded {
    inner: Arc<dyn Source>,
    files: Files,
    /// The fields of the source below, and those of files.
    spec: Spec,
    /// Whether files are fields of the data, and not added by a stage.
    in_place: bool,
}

impl Loaded {
    /// Adds the files that these columns name. `store` has the files.
    pub fn new(inner: Arc<dyn Source>, store: Arc<dyn Store>, columns: Vec<FileColumn>) -> Self {
        let mut spec = inner.spec().clone();
        spec.fields.extend(columns.iter().map(|column| (Arc::clone(&column.stored), FieldSpec::encoded())));
        Loaded { inner, files: Files::new(store, columns), spec, in_place: false }
    }

    /// Puts the files in the place of the columns that name them: for formats whose rows are files and what is known of them.
    pub fn in_place(inner: Arc<dyn Source>, store: Arc<dyn Store>, columns: Vec<FileColumn>) -> Result<Self> {
        let mut spec = inner.spec().clone();
        for column in &columns {
            let at = spec.require(&column.column, "load")?;
            if spec.position(&column.stored).is_some() {
                let what =
                    format!("there are two fields `{}`: {} names one of them", column.stored, column.column);
                return Err(Error::plan("load", what));
            }
            spec.fields[at] = (Arc::clone(&column.stored), FieldSpec::encoded());
        }
        Ok(Loaded { inner, files: Files::new(store, columns), spec, in_place: true })
    }
}

impl Source for Loaded {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        self.inner.shard_rows()
    }

    fn shard_of(&self, row: u64) -> String {
        self.inner.shard_of(row)
    }

    /// Rows are read to find their files, and the files looked up.
    fn stamps(&self, rows: &[u64], fields: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        let below = self.files.below(fields);
        let mut out = self.inner.stamps(rows, &below)?;
        if !rows.is_empty() && fields.iter().any(|field| self.files.has(field)) {
            // Rows that cannot be read have no stamp, and are bad samples when they are read again.
            let Ok(records) = self.inner.fetch(rows, &below) else { return Some(vec![None; rows.len()]) };
            for (at, (stamp, record)) in out.iter_mut().zip(&records).enumerate() {
                let files = self.files.stamp(fields, &below, record, &|| self.inner.shard_of(rows[at]));
                *stamp = stamp.zip(files).map(|(row, files)| files.wide(row).get());
            }
        }
        Some(out)
    }

    fn key(&self, row: u64) -> String {
        self.inner.key(row)
    }

    /// Of files, the average size of those read so far.
    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        self.inner.row_bytes(row, &self.files.below(fields)).saturating_add(self.files.average(fields))
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let below = self.files.below(fields);
        let records = self.inner.fetch(rows, &below)?;
        self.files.read(fields, &below, records, &|at| self.inner.shard_of(rows[at]))
    }

    /// Files are not announced: which ones are meant is known only when the rows are read.
    fn will_fetch_blocks(&self, rows: &[u64], fields: &[Arc<str>]) {
        self.inner.will_fetch_blocks(rows, &self.files.below(fields));
    }

    fn room_ahead(&self) -> Option<u64> {
        self.inner.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.inner.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.inner.forget_ahead();
    }

    fn caches(&self) -> Vec<&dyn Cache> {
        self.inner.caches()
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        self.inner.will_fetch(rows, &self.files.below(fields));
    }

    fn classes(&self) -> &[String] {
        self.inner.classes()
    }

    fn damage(&self) -> Vec<String> {
        self.inner.damage()
    }

    /// The sizes of rows are not known: those of the files belong to them.
    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        if name == "bytes" { Ok(None) } else { self.inner.column(name) }
    }

    fn block_rows(&self) -> &[u64] {
        self.inner.block_rows()
    }

    fn most_mixed(&self) -> Option<u64> {
        self.inner.most_mixed()
    }

    fn fills(&self, field: &str) -> bool {
        !self.files.has(field) && self.inner.fills(field)
    }

    fn fill(&self, rows: &[u64], fields: &[Arc<str>], out: &mut [&mut [u8]]) -> Result<()> {
        self.inner.fill(rows, fields, out)
    }

    fn fields_of_states(&self) -> Fields {
        if self.in_place { self.spec.fields.clone() } else { self.inner.fields_of_states() }
    }

    fn set_memory(&self, bytes: Option<u64>) {
        self.inner.set_memory(bytes);
    }

    fn set_largest_row(&self, bytes: u64) {
        self.inner.set_largest_row(bytes);
        self.files.set_limit(bytes);
    }

    fn describe(&self) -> String {
        format!("{}, with {}", self.inner.describe(), self.files.describe())
    }
}

#[cfg(test)]
mod tests;
