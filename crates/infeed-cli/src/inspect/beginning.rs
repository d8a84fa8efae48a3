//! The first rows of a stream, kept in memory, because a stream cannot be read by row number.

use infeed::Result;
use infeed_core::{Record, Source, Spec, Stream, StreamRow};
use std::sync::Arc;

/// The first rows of a stream, as a source.
#[derive(Debug)]
pub(crate) struct Beginning {
    rows: Vec<StreamRow>,
    count: [u64; 1],
    spec: Spec,
    about: String,
    /// Whether there are more rows.
    pub(crate) more: bool,
}

impl Beginning {
    /// Reads at most `most` rows.
    pub(crate) fn read(stream: &dyn Stream, most: u64) -> Result<Self> {
        let spec = stream.spec().clone();
        let fields: Vec<Arc<str>> = spec.fields.iter().map(|(name, _)| Arc::clone(name)).collect();
        let mut flow = stream.start(&(0..stream.parts()).collect::<Vec<_>>())?;
        let mut rows = vec![];
        while (rows.len() as u64) < most
            && let Some(row) = flow.next(&fields)?
        {
            rows.push(row);
        }
        let more = flow.next(&[])?.is_some();
        Ok(Beginning { count: [rows.len() as u64], rows, spec, about: stream.describe(), more })
    }

    fn row(&self, row: u64) -> Option<&StreamRow> {
        self.rows.get(usize::try_from(row).ok()?)
    }
}

impl Source for Beginning {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        &self.count
    }

    fn shard_of(&self, row: u64) -> String {
        self.row(row).map(|r| r.shard.to_string()).unwrap_or_default()
    }

    fn key(&self, row: u64) -> String {
        self.row(row).map(|r| r.key.clone()).unwrap_or_default()
    }

    fn row_bytes(&self, _: u64, _: &[Arc<str>]) -> u64 {
        0
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let pick = |row: &StreamRow| {
            let record = row.record.as_ref().map_err(Clone::clone)?;
            let value = |f: &Arc<str>| self.spec.position(f).and_then(|at| record.fields.get(at)).cloned();
            Ok(Record { fields: fields.iter().map(|f| value(f).unwrap_or_default()).collect() })
        };
        rows.iter().filter_map(|row| self.row(*row)).map(pick).collect()
    }

    fn describe(&self) -> String {
        self.about.clone()
    }
}
