//! Reads the files that the columns of some records name.

use super::FileColumn;
use bytes::Bytes;
use infeed_core::{
    Error, Record, Result, Stamp, Store, StoreExt, Value, memory::DEFAULT_LIMIT, store::below::Refusal,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Assumed size of a file before the first one has been read: an average photograph.
const GUESS: u64 = 128 << 10;

/// The columns that name files, and the store that has them.
#[derive(Debug)]
pub(super) struct Files {
    store: Arc<dyn Store>,
    columns: Vec<FileColumn>,
    /// Files read and their bytes, per column.
    read: Vec<(AtomicU64, AtomicU64)>,
    /// Most bytes of one file.
    limit: AtomicU64,
}

impl Files {
    pub(super) fn new(store: Arc<dyn Store>, columns: Vec<FileColumn>) -> Self {
        let read = columns.iter().map(|_| Default::default()).collect();
        Files { store, columns, read, limit: AtomicU64::new(DEFAULT_LIMIT) }
    }

    pub(super) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Whether a field has files.
    pub(super) fn has(&self, field: &str) -> bool {
        self.place(field).is_some()
    }

    fn place(&self, field: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column.stored == *field)
    }

    /// Returns the fields that are read for these fields: paths in place of files, each field once.
    pub(super) fn below(&self, fields: &[Arc<str>]) -> Vec<Arc<str>> {
        let mut out: Vec<Arc<str>> = Vec::with_capacity(fields.len());
        for field in fields {
            let field = self.place(field).map_or(field, |place| &self.columns[place].column);
            if !out.contains(field) {
                out.push(Arc::clone(field));
            }
        }
        out
    }

    /// Returns about how many bytes the files of a row have, among these fields.
    pub(super) fn average(&self, fields: &[Arc<str>]) -> u64 {
        let one = |place: usize| {
            let (files, bytes) = &self.read[place];
            bytes.load(Relaxed).checked_div(files.load(Relaxed)).unwrap_or(GUESS)
        };
        fields.iter().filter_map(|field| self.place(field)).map(one).sum()
    }

    /// Makes records with `fields` of records with the fields `below`. `shard` returns the shard of a record.
    pub(super) fn read(
        &self,
        fields: &[Arc<str>],
        below: &[Arc<str>],
        records: Vec<Record>,
        shard: &dyn Fn(usize) -> String,
    ) -> Result<Vec<Record>> {
        let at = |field: &Arc<str>| below.iter().position(|known| known == field).unwrap_or(usize::MAX);
        let mut files: Vec<(usize, Vec<Bytes>)> = Vec::new();
        for place in fields.iter().filter_map(|field| self.place(field)) {
            let column = &self.columns[place];
            let paths = records.iter().map(|record| record.fields.get(at(&column.column)));
            let paths: Vec<&Value> = paths.map(|value| value.unwrap_or(&Value::Missing)).collect();
            files.push((place, self.column(place, &paths, shard).map_err(|e| e.in_field(&column.to))?));
        }
        let made = |(row, record): (usize, Record)| {
            let value = |field: &Arc<str>| match self.place(field) {
                None => record.fields.get(at(field)).cloned().unwrap_or_default(),
                Some(place) => {
                    let found = files.iter().find(|(known, _)| *known == place);
                    found.and_then(|(_, files)| files.get(row)).cloned().map_or(Value::Missing, Value::Bytes)
                }
            };
            Record { fields: fields.iter().map(value).collect() }
        };
        Ok(records.into_iter().enumerate().map(made).collect())
    }

    /// Returns the stamp of the files of a record with the fields `below`; `None` if one is not found.
    pub(super) fn stamp(
        &self,
        fields: &[Arc<str>],
        below: &[Arc<str>],
        record: &Record,
        shard: &dyn Fn() -> String,
    ) -> Option<Stamp> {
        let mut stamp = Stamp::default();
        for place in fields.iter().filter_map(|field| self.place(field)) {
            let column = &self.columns[place];
            let value = record.fields.get(below.iter().position(|known| *known == column.column)?)?;
            let name = column.name(&*self.store, &column.folder(shard), value).ok()?;
            stamp = stamp.wide(Stamp::of(&self.store.stat_one(&name).ok()?)?.get());
        }
        Some(stamp)
    }

    /// Reads the files of one column, in the order of the rows. Rows of one folder are read by one call.
    fn column(&self, place: usize, paths: &[&Value], shard: &dyn Fn(usize) -> String) -> Result<Vec<Bytes>> {
        let column = &self.columns[place];
        let mut out: Vec<Bytes> = Vec::with_capacity(paths.len());
        let mut names: Vec<String> = Vec::with_capacity(paths.len());
        let mut last = String::new();
        for (row, value) in paths.iter().enumerate() {
            let folder = column.folder(|| shard(row));
            if *folder != *last {
                self.take(column, &last, &mut names, &mut out)?;
                last = folder.into_owned();
            }
            names.push(column.name(&*self.store, &last, value)?);
        }
        self.take(column, &last, &mut names, &mut out)?;
        let (files, bytes) = &self.read[place];
        files.fetch_add(out.len() as u64, Relaxed);
        bytes.fetch_add(out.iter().map(|file| file.len() as u64).sum(), Relaxed);
        Ok(out)
    }

    /// Reads the named files, all below one folder.
    fn take(
        &self,
        column: &FileColumn,
        folder: &str,
        names: &mut Vec<String>,
        out: &mut Vec<Bytes>,
    ) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let folders = [folder.to_owned()];
        let read = self.store.read_below(names, &folders, self.limit.load(Relaxed));
        out.extend(read.map_err(|error| explained(error, column, folder))?);
        names.clear();
        Ok(())
    }

    /// Describes the columns for `explain()`.
    pub(super) fn describe(&self) -> String {
        let one = |column: &FileColumn| format!("the files that `{}` names", column.column);
        self.columns.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Says which column named the file, for errors that are the data's fault.
fn explained(error: Error, column: &FileColumn, folder: &str) -> Error {
    let column = &column.column;
    match (Refusal::of(&error), error) {
        (Some(Refusal::Outside), Error::Io { path, .. }) => Error::sample(format!(
            "`{column}` names the file `{path}`, which is a link to outside of `{folder}`: it is not read; root= names the \
             folder that paths are relative to"
        )),
        (Some(Refusal::NotAFile), Error::Io { path, source, .. }) => {
            // What could be done about a pipe that the user named is no help here.
            let why = source.to_string();
            let why = why.split(';').next().unwrap_or_default();
            Error::sample(format!("`{column}` names `{path}`, which is no regular file: {why}"))
        }
        (_, Error::NotFound { path, hint }) => {
            Error::sample(format!("`{column}` names the file `{path}`, which is not found{hint}"))
        }
        (_, error @ Error::Io { .. }) if !error.is_storage() => {
            Error::sample(format!("`{column}` names a file that cannot be read: {error}"))
        }
        (_, other) => other,
    }
}
