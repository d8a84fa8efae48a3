//! Tars that are read from front to back.

use super::{LARGEST_ROW, TarRow, TarRows, TarWatch};
use crate::{
    store::{Pool, Stores},
    stream::{
        ahead::Ahead,
        compress,
        input::Input,
        opening::Opening,
        parts::{Cut, Keep, Parts, Sequence},
    },
};
use infeed_core::{Error, FieldSpec, Flow, Record, Result, Spec, Store, Stream, StreamRow, Value};
use std::{
    collections::BTreeSet,
    io::Read,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Rows that are read to learn the fields.
const LOOK_AT_ROWS: usize = 64;
const LOOK_AT_BYTES: u64 = 64 << 20;
/// Bytes of unused buffers that a stream keeps: for the queued rows and a batch in progress.
const KEPT: usize = 64 << 20;

/// Cuts a part into the rows of its tar.
#[derive(Debug)]
pub(in crate::stream) struct TarCut {
    pub(in crate::stream) pool: Arc<Pool>,
    /// Most bytes of a row.
    pub(in crate::stream) largest: AtomicU64,
    /// Who wants to know where members lie.
    pub(in crate::stream) watch: OnceLock<Arc<dyn TarWatch>>,
}

impl Cut for TarCut {
    type Item = TarRow;
    type Reader = TarRows<Box<dyn Read + Send>>;

    fn begin(&self, name: &Arc<str>, bytes: Input) -> Result<Self::Reader> {
        let shard = bytes.shard().cloned();
        let (reader, packing) = compress::unpack(name, bytes)?;
        // Places in a compressed tar are of no use.
        let shard = shard.filter(|_| packing.is_none());
        let notes = self.watch.get().zip(shard).and_then(|(watch, shard)| watch.begin(&shard));
        let rows = TarRows::new(name, reader, packing, &self.pool);
        Ok(rows.with_largest(self.largest.load(Relaxed)).with_notes(notes))
    }

    fn next(reader: &mut Self::Reader, keep: Keep) -> Result<Option<TarRow>> {
        reader.next(keep)
    }
}

/// WebDataset tars without an index: compressed files, commands, standard input.
///
/// A flow prefetches on a thread of its own: at most 32 MiB or 4,096 rows are queued.
#[derive(Debug)]
pub struct TarStream {
    parts: Arc<Parts<TarCut>>,
    spec: Spec,
}

impl TarStream {
    /// Opens parts and reads the first rows of the first part that has any, to learn the fields.
    pub fn open(paths: Vec<Opening>) -> Result<TarStream> {
        Self::open_in(Stores::shared(), paths)
    }

    /// Like [`TarStream::open`], with files of this store.
    pub fn open_in(store: Arc<dyn Store>, paths: Vec<Opening>) -> Result<TarStream> {
        let cut =
            TarCut { pool: Pool::new(KEPT), largest: AtomicU64::new(LARGEST_ROW), watch: OnceLock::new() };
        let parts = Parts::new(cut, store, paths)?;
        let mut names = BTreeSet::new();
        for part in 0..parts.len() {
            let (mut rows, mut bytes) = (0, 0);
            parts.look(part, Keep::Names, |row| {
                names.extend(row.fields.iter().map(|(name, _)| Arc::clone(name)));
                (rows, bytes) = (rows + 1, bytes + row.size);
                rows < LOOK_AT_ROWS && bytes < LOOK_AT_BYTES
            })?;
            if !names.is_empty() {
                break;
            }
        }
        let fields = names.into_iter().map(|name| (name, FieldSpec::encoded())).collect();
        Ok(TarStream { parts: Arc::new(parts), spec: Spec { fields } })
    }

    /// The same stream, with somebody who is told where the members of its plain tars lie.
    #[must_use]
    pub fn watched(self, watch: Arc<dyn TarWatch>) -> Self {
        // Set once, before the first flow.
        let _ = self.parts.cut().watch.set(watch);
        self
    }
}

impl Stream for TarStream {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn parts(&self) -> u64 {
        self.parts.len() as u64
    }

    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>> {
        let sequence = Sequence::new(&self.parts, parts)?;
        Ok(Box::new(TarFlow { state: State::Waiting(Box::new(sequence)) }))
    }

    fn set_largest_row(&self, bytes: u64) {
        self.parts.cut().largest.store(bytes.min(LARGEST_ROW), Relaxed);
    }

    fn describe(&self) -> String {
        self.parts.describe("tar")
    }
}

/// A running [`TarStream`].
#[derive(Debug)]
struct TarFlow {
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not started. Rows that are skipped now are not kept: this is how a run resumes.
    Waiting(Box<Sequence<TarCut>>),
    Running(Ahead),
    /// The error that ended it.
    Failed(Error),
}

impl TarFlow {
    fn row(&mut self) -> Result<Option<(Arc<str>, TarRow)>> {
        if let State::Waiting(_) = &self.state {
            let before = std::mem::replace(&mut self.state, State::Failed(Error::argument("not started")));
            if let State::Waiting(sequence) = before {
                self.state = match Ahead::start(*sequence) {
                    Ok(ahead) => State::Running(ahead),
                    Err(error) => State::Failed(error),
                };
            }
        }
        match &mut self.state {
            State::Running(ahead) => ahead.next(),
            State::Failed(error) => Err(error.clone()),
            State::Waiting(_) => Ok(None),
        }
    }
}

impl Flow for TarFlow {
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>> {
        let Some((shard, row)) = self.row()? else { return Ok(None) };
        let value = |wanted: &Arc<str>| {
            let found = row.fields.iter().find(|(name, _)| name == wanted);
            found.map_or(Value::Missing, |(_, bytes)| Value::Bytes(bytes.clone()))
        };
        let record = Record { fields: fields.iter().map(value).collect() };
        Ok(Some(StreamRow { shard, key: row.key, record: Ok(record) }))
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        for skipped in 0..rows {
            let row = match &mut self.state {
                State::Waiting(sequence) => sequence.next(Keep::Names),
                _ => self.row(),
            };
            match row {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(skipped),
                Err(error) => {
                    self.state = State::Failed(error.clone());
                    return Err(error);
                }
            }
        }
        Ok(rows)
    }
}
