//! Rows of JSON lines, CSV, text and TFRecord that pass by.
//!
//! ```text
//! one thread                          some threads            whoever calls next()
//! bytes -> [compress] -> blocks  ->   fields of a block  ->   rows, in order
//! ```
//!
//! Decompression cannot be shared among threads, so its thread does nothing else but look for the ends of rows. Taking rows
//! apart can, a block of about 1 MiB at a time.

mod blocks;
mod flow;
mod queue;

use super::part::Opening;
use crate::{
    format::rows::{Head, LOOK, Layout, START, Schema},
    store::Pool,
};
use blocks::{Begun, Block, Blocks};
use flow::RowFlow;
use infeed_core::{Error, Flow, Hold, Result, Spec, Stream};
use std::sync::{Arc, Mutex};

/// Bytes of unused buffers that a stream keeps.
const KEPT: usize = 64 << 20;

/// A part that can be opened, perhaps only once.
#[derive(Debug)]
pub(super) struct Part {
    opening: Opening,
    name: Arc<str>,
    /// For a part that can be read only once: what has been read of it so far, until somebody takes it.
    once: Option<Mutex<Option<Begun>>>,
}

/// Files and commands whose rows are read from front to back.
#[derive(Debug)]
pub struct RowStream {
    layout: Arc<dyn Layout>,
    schema: Arc<dyn Schema>,
    parts: Arc<[Part]>,
    spec: Spec,
    pool: Arc<Pool>,
}

impl RowStream {
    /// Opens parts and looks at the first rows of the first that has any, to learn the fields.
    pub(crate) fn open(layout: Arc<dyn Layout>, paths: Vec<Opening>) -> Result<RowStream> {
        if paths.is_empty() {
            return Err(Error::argument("a stream needs at least one file or command"));
        }
        if paths.iter().filter(|path| matches!(path, Opening::File(name) if name == "-")).count() > 1 {
            return Err(Error::argument("standard input (`-`) can be read only once; it is given twice"));
        }
        let part = |opening: Opening| {
            let once = opening.once()?.then(|| Mutex::new(None));
            Ok(Part { name: opening.name().into(), opening, once })
        };
        let parts: Arc<[Part]> = paths.into_iter().map(part).collect::<Result<_>>()?;
        let pool = Pool::new(KEPT);
        let (mut head, mut seen) = (None, parts.len());
        for (at, part) in parts.iter().enumerate() {
            let mut begun = Begun::new(Blocks::open(&layout, &part.opening, &part.name, &pool)?);
            let found = begun.look(layout.look().max(1), LOOK)?;
            if let Some(once) = &part.once {
                *once.hold() = Some(begun);
            }
            if !found.rows.is_empty() {
                (head, seen) = (Some((Arc::clone(&part.name), found)), at + 1);
                break;
            }
        }
        // Those that were not looked at are opened when they are claimed.
        for part in &parts[seen..] {
            if let Some(once) = &part.once {
                let blocks = Blocks::open(&layout, &part.opening, &part.name, &pool)?;
                *once.hold() = Some(Begun::new(blocks));
            }
        }
        let in_part = |name: &str, e: Error| match e {
            Error::Sample { .. } => Error::plan("read", format!("shard `{name}`: {e}")),
            other => other,
        };
        let sketch = match &head {
            Some((name, head)) => layout.sketch(head).map_err(|e| in_part(name, e))?,
            None => return Err(Error::plan("read", format!("there are no rows in {} parts", parts.len()))),
        };
        let schema = layout.schema(sketch)?;
        let mut fields = schema.fields();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(RowStream { layout, schema, parts, spec: Spec { fields }, pool })
    }
}

/// The first rows, for learning the fields.
type Looked = Head;

impl Stream for RowStream {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn parts(&self) -> u64 {
        self.parts.len() as u64
    }

    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>> {
        let lost = |part: &u64| {
            Error::argument(format!("there is no part {part}: the stream has {}", self.parts.len()))
        };
        let place = |part: &u64| {
            usize::try_from(*part).ok().filter(|at| *at < self.parts.len()).ok_or_else(|| lost(part))
        };
        // All are checked before any is taken: what is taken cannot be given back.
        let order = parts.iter().map(place).collect::<Result<Vec<usize>>>()?;
        let mut claimed = vec![];
        for at in &order {
            claimed.push(self.parts[*at].claim()?);
        }
        let sequence = Sequence {
            layout: Arc::clone(&self.layout),
            parts: Arc::clone(&self.parts),
            pool: Arc::clone(&self.pool),
            order: order.into_iter().zip(claimed).collect::<Vec<_>>().into_iter(),
            current: None,
            stop: super::input::Stop::default(),
        };
        Ok(Box::new(RowFlow::start(sequence, Arc::clone(&self.schema))?))
    }

    fn describe(&self) -> String {
        let pipes = self.parts.iter().filter(|part| matches!(part.opening, Opening::Pipe(_))).count();
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let kinds = [count(self.parts.len() - pipes, "file"), count(pipes, "command")];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        format!("{} stream of {}, read from front to back", self.layout.name(), kinds.join(" and "))
    }
}

impl Part {
    /// Takes a part that can be read only once; nothing for one that can be opened at any time.
    fn claim(&self) -> Result<Option<Begun>> {
        let Some(once) = &self.once else { return Ok(None) };
        let begun = once.hold().take();
        let what = if &*self.name == "-" { "standard input" } else { "a pipe" };
        begun.map(Some).ok_or_else(|| {
            Error::argument(format!(
                "`{}` is {what}, which can be read only once, and that has been started already; \
                 save it to a file to read it again",
                self.name
            ))
        })
    }
}

/// The blocks of some parts, in order.
#[derive(Debug)]
pub(super) struct Sequence {
    layout: Arc<dyn Layout>,
    parts: Arc<[Part]>,
    pool: Arc<Pool>,
    order: std::vec::IntoIter<(usize, Option<Begun>)>,
    current: Option<Begun>,
    stop: super::input::Stop,
}

impl Sequence {
    /// What ends the reading from outside, whatever it waits for.
    fn stops(&self) -> Vec<super::input::Stop> {
        let claimed = self.order.as_slice().iter().filter_map(|(_, begun)| begun.as_ref());
        claimed.map(|begun| begun.stop().clone()).chain([self.stop.clone()]).collect()
    }

    fn next(&mut self) -> Result<Option<Block>> {
        loop {
            if self.current.is_none() {
                let Some((at, begun)) = self.order.next() else { return Ok(None) };
                let part = &self.parts[at];
                self.current = Some(match begun {
                    Some(begun) => begun,
                    None => Begun::new(Blocks::with(
                        &self.layout,
                        &part.opening,
                        &part.name,
                        &self.pool,
                        &self.stop,
                    )?),
                });
            }
            match self.current.as_mut().map(Begun::next).transpose()?.flatten() {
                Some(block) => return Ok(Some(block)),
                None => self.current = None,
            }
        }
    }
}

const _: () = assert!(START < LOOK);
