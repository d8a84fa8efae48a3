//! A running stream of rows.

use super::{
    blocks::{BlockCut, RowBlock},
    queue::{Next, Queue, Records},
};
use crate::{
    layout::rows::RowSchema,
    stream::{
        ahead::panicked,
        input::Stop,
        parts::{Keep, Sequence},
    },
};
use infeed_core::{Error, Flow, Result, StreamRow, signals};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
};

/// Maximum threads that parse blocks: the consumer helps, and few inputs are fast enough to use more.
const HELPERS: usize = 4;

/// A running `RowStream`. Dropping it ends its threads and joins them.
#[derive(Debug)]
pub(super) struct RowFlow {
    queue: Arc<Queue>,
    schema: Arc<dyn RowSchema>,
    stops: Vec<Stop>,
    threads: Vec<JoinHandle<()>>,
    /// The requested fields.
    fields: Option<Arc<[Arc<str>]>>,
    /// Whether they have changed during the flow.
    mixed: bool,
    current: Option<Current>,
    /// The error that ended it.
    failed: Option<Error>,
}

/// The block whose rows are being returned.
#[derive(Debug)]
struct Current {
    block: Arc<RowBlock>,
    /// The next row.
    at: usize,
    /// Records of the rows from `at` on, in reverse order; `None` until they are made.
    records: Option<Records>,
}

impl RowFlow {
    pub(super) fn start(mut sequence: Sequence<BlockCut>, schema: Arc<dyn RowSchema>) -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let stops = sequence.stops();
        let mut flow = RowFlow {
            queue: Arc::clone(&queue),
            schema: Arc::clone(&schema),
            stops,
            threads: vec![],
            fields: None,
            mixed: false,
            current: None,
            failed: None,
        };
        let ours = Arc::clone(&queue);
        flow.spawn("infeed-stream", move || {
            while let Some((_, block)) = sequence.next(Keep::Data)? {
                if !ours.put(block) {
                    break;
                }
            }
            Ok(true)
        })?;
        let cpus = infeed_core::parallel::cpus();
        for _ in 0..cpus.saturating_sub(1).clamp(1, HELPERS) {
            let (ours, schema) = (Arc::clone(&queue), Arc::clone(&schema));
            flow.spawn("infeed-rows", move || {
                while let Some((number, block, fields)) = ours.job() {
                    // A panic becomes an error of the block's rows: the consumer would wait for ever for a block that
                    // is never done.
                    let made = catch_unwind(AssertUnwindSafe(|| records(&block, 0, &*schema, &fields)));
                    let failed = |panic: Box<dyn std::any::Any + Send>| {
                        let error = panicked(&*panic);
                        (0..block.len()).map(|_| Err(error.clone())).collect()
                    };
                    ours.done(number, made.unwrap_or_else(failed));
                }
                Ok(false)
            })?;
        }
        Ok(flow)
    }

    /// Starts a thread. `work` returns whether its end is the end of the stream.
    fn spawn(&mut self, name: &str, work: impl FnOnce() -> Result<bool> + Send + 'static) -> Result<()> {
        let queue = Arc::clone(&self.queue);
        let inherit = signals::inherit();
        let run = move || {
            let _entered = inherit();
            // Nothing of `work` is used after a panic: it is dropped with this thread.
            match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Ok(false)) => {}
                Ok(end) => queue.end(end.map(drop)),
                Err(panic) => queue.end(Err(panicked(&*panic))),
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
        self.threads.push(thread.map_err(|e| Error::io("start", "a thread for the stream", e))?);
        Ok(())
    }

    /// Makes the next block current.
    fn advance(&mut self, skip: Option<u64>) -> Result<bool> {
        self.current = match self.queue.next(skip)? {
            Next::End => return Ok(false),
            Next::Raw(block) => Some(Current { block, at: 0, records: None }),
            Next::Done(block, mut made) => {
                made.reverse();
                Some(Current { block, at: 0, records: Some(made) })
            }
        };
        Ok(true)
    }

    fn row(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>> {
        if self.fields.as_deref() != Some(fields) {
            let fields: Arc<[Arc<str>]> = fields.into();
            self.queue.want(&fields);
            // Records made for other fields are made again. Queued blocks may still have those, so a flow whose
            // fields change parses all blocks itself.
            if let Some(current) = &mut self.current {
                current.records = None;
            }
            if self.fields.is_some() {
                self.mixed = true;
            }
            self.fields = Some(fields);
        }
        loop {
            match &mut self.current {
                Some(current) if current.at < current.block.len() => {
                    let made = current.records.get_or_insert_with(|| {
                        let mut made = records(&current.block, current.at, &*self.schema, fields);
                        made.reverse();
                        made
                    });
                    let lost = || Err(Error::Internal { what: "a row was lost in a stream".to_owned() });
                    let record = made.pop().unwrap_or_else(lost);
                    let key = current.block.number(current.at).to_string();
                    current.at += 1;
                    return Ok(Some(StreamRow {
                        shard: Arc::clone(&current.block.origin.name),
                        key,
                        record,
                    }));
                }
                _ => {
                    if !self.advance(None)? {
                        return Ok(None);
                    }
                    if self.mixed
                        && let Some(current) = &mut self.current
                    {
                        current.records = None;
                    }
                }
            }
        }
    }

    fn pass(&mut self, rows: u64) -> Result<u64> {
        let mut left = rows;
        while left > 0 {
            let Some(current) = &mut self.current else {
                if self.advance(Some(left))? {
                    continue;
                }
                break;
            };
            let step = left.min((current.block.len() - current.at) as u64);
            current.at += step as usize;
            if let Some(made) = &mut current.records {
                made.truncate(made.len() - step as usize);
            }
            left -= step;
            if current.at == current.block.len() {
                self.current = None;
            }
        }
        Ok(rows - left)
    }

    /// Stores an error, so that it is repeated on every call.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        work(self).inspect_err(|error| self.failed = Some(error.clone()))
    }
}

/// Parses the rows of a block.
fn records(block: &RowBlock, from: usize, schema: &dyn RowSchema, fields: &[Arc<str>]) -> Records {
    let rows = block.rows(from);
    let mut out = Vec::with_capacity(rows.len());
    match block.origin.codec(schema) {
        Ok(codec) => codec.records(&rows, fields, &mut out),
        Err(error) => out.extend(rows.iter().map(|_| Err(error.clone()))),
    }
    out
}

impl Flow for RowFlow {
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>> {
        self.guarded(|flow| flow.row(fields))
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        self.guarded(|flow| flow.pass(rows))
    }
}

impl Drop for RowFlow {
    fn drop(&mut self) {
        self.stops.iter().for_each(Stop::set);
        self.queue.close();
        for thread in self.threads.drain(..) {
            // Its panics were caught; another one could not be reported.
            let _ = thread.join();
        }
    }
}
