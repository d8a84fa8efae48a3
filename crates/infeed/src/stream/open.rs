//! Tars that are read from front to back.

use super::{
    ahead::Ahead,
    part::Opening,
    sequence::{Part, Sequence},
    tar::{Keep, Row},
};
use crate::store::Pool;
use infeed_core::{Error, FieldSpec, Flow, Passing, Record, Result, Spec, Stream, Value};
use std::{collections::BTreeSet, sync::Arc};

/// How much is looked at to learn which fields there are.
const LOOK_AT_ROWS: usize = 64;
const LOOK_AT_BYTES: u64 = 64 << 20;
/// Bytes of unused buffers that a stream keeps: those of the rows that wait, and of a batch in the making.
const KEPT: usize = 64 << 20;

/// WebDataset tars that have no index: compressed files, commands, standard input.
///
/// A flow reads ahead on a thread of its own: at most 32 MiB or 4,096 rows wait.
#[derive(Debug)]
pub struct TarStream {
    parts: Arc<[Part]>,
    spec: Spec,
    pool: Arc<Pool>,
}

impl TarStream {
    /// Opens parts and looks at the first rows of the first that has any, to learn the fields.
    pub fn open(paths: Vec<Opening>) -> Result<TarStream> {
        if paths.is_empty() {
            return Err(Error::argument("a stream needs at least one file or command"));
        }
        let inputs = paths.iter().filter(|path| matches!(path, Opening::File(name) if name == "-")).count();
        if inputs > 1 {
            return Err(Error::argument("standard input (`-`) can be read only once; it is given twice"));
        }
        let parts: Arc<[Part]> = paths.into_iter().map(Part::new).collect::<Result<_>>()?;
        let pool = Pool::new(KEPT);
        let mut names = BTreeSet::new();
        for part in parts.iter() {
            names = part.look(&pool, LOOK_AT_ROWS, LOOK_AT_BYTES)?;
            if !names.is_empty() {
                break;
            }
        }
        let fields = names.into_iter().map(|name| (name, FieldSpec::encoded())).collect();
        Ok(TarStream { parts, spec: Spec { fields }, pool })
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
        let sequence = Sequence::new(&self.parts, parts, &self.pool)?;
        Ok(Box::new(TarFlow { state: State::Waiting(Box::new(sequence)) }))
    }

    fn describe(&self) -> String {
        let pipes = self.parts.iter().filter(|p| matches!(p.opening, Opening::Pipe(_))).count();
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let kinds = [count(self.parts.len() - pipes, "file"), count(pipes, "command")];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        format!("tar stream of {}, read from front to back", kinds.join(" and "))
    }
}

/// A [`TarStream`] in motion.
#[derive(Debug)]
struct TarFlow {
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing was asked for yet. Rows that are skipped now need not be taken along: this is how a run resumes.
    Waiting(Box<Sequence>),
    Running(Ahead),
    /// Why it could not go on.
    Failed(Error),
}

impl TarFlow {
    fn row(&mut self) -> Result<Option<(Arc<str>, Row)>> {
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
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<Passing>> {
        let Some((shard, row)) = self.row()? else { return Ok(None) };
        let value = |wanted: &Arc<str>| {
            let found = row.fields.iter().find(|(name, _)| name == wanted);
            found.map_or(Value::Missing, |(_, bytes)| Value::Bytes(bytes.clone()))
        };
        let record = Record { fields: fields.iter().map(value).collect() };
        Ok(Some(Passing { shard, key: row.key, record: Ok(record) }))
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
