//! Which bytes are here, on their way, or wanted.
//!
//! A [`Fetcher`] keeps *extents*: parts of objects that were asked for, each one request. Readers announce what they will need
//! (`ahead`) and later take it (`read`); an extent that nobody announced is fetched when it is read. Neighbours are joined
//! where the gap is cheaper than another request, and large ranges are split, so that several connections bring them.
//!
//! **Memory.** Announcements are taken while there is room below the limit ([`Fetcher::room`]). An extent whose bytes were all read
//! is dropped at once. One that was read in part (a block of rows that are shuffled) stays until the last step that it was
//! announced for is done ([`Fetcher::ahead_for`]). A read that somebody waits for is never refused: for it, what was read in
//! part and used least recently makes room.
//!
//! **Who waits for whom.** Threads of readers wait for an extent on its own condition. Requests run on the runtime; when one
//! ends, it starts the next from the queue. Nothing waits while it holds the lock of the table.

mod extent;
mod flow;
mod hedge;
mod pace;
mod ranges;
mod request;
mod table;

use crate::{
    backend::{Backend, Cause, Failure},
    options::StoreOptions,
    runtime::{self, SLICE, cancelled},
    stats::COUNTERS,
};
use bytes::Bytes;
use extent::{Extent, State};
use flow::Flow;
use futures_util::FutureExt;
use infeed_core::{Error, Hold, Result, pool::Pool, signals};
use pace::Pace;
use std::{
    ops::Range,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use table::Table;

pub(crate) use request::{STALL, pause, retrying};

/// An object as readers know it.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its URL.
    pub(crate) url: Arc<str>,
    /// Its URL, size and tag: what was fetched of an object that was replaced is not that of the one in its place.
    pub(crate) identity: Arc<str>,
    pub(crate) key: String,
    pub(crate) backend: Arc<Backend>,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: Option<u64>,
    pub(crate) tag: Option<String>,
    /// Whether a listing told of it.
    pub(crate) listed: bool,
    /// Set when the server turns out to send whole objects only.
    pub(crate) whole: AtomicBool,
}

impl Object {
    /// Whether its server sends it only as a whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole.load(Relaxed)
    }
}

/// Brings bytes.
#[derive(Debug)]
pub(crate) struct Fetcher {
    table: Mutex<Table>,
    flow: Mutex<Flow>,
    pace: Mutex<Pace>,
    pool: Arc<Pool>,
    options: StoreOptions,
}

impl Fetcher {
    pub(crate) fn new(options: StoreOptions) -> Arc<Self> {
        Arc::new(Fetcher {
            table: Mutex::new(Table::new(options.ahead)),
            flow: Mutex::new(Flow::new(options.requests)),
            pace: Mutex::new(Pace::default()),
            // What one window of blocks leaves behind, the next one takes. No more is ever here than was in use at one time.
            pool: Pool::new(usize::try_from(options.ahead).unwrap_or(usize::MAX)),
            options,
        })
    }

    /// Bytes that may still be announced.
    pub(crate) fn room(&self) -> u64 {
        self.table.hold().room()
    }

    /// Sets the bytes that may lie here.
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.table.hold().set_limit(bytes);
    }

    /// What is announced from now on is for this step of a run, and what was announced for steps before `done` alone goes.
    pub(crate) fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.table.hold().ahead_for(run, step, done);
    }

    /// Forgets what was announced and not read.
    pub(crate) fn forget(&self) {
        self.table.hold().forget();
    }

    /// Whether an object can only be had as a whole, and may not lie in memory.
    pub(crate) fn is_too_large(&self, object: &Object) -> bool {
        object.is_whole() && object.size > self.options.ahead
    }

    /// How long a request may make no progress.
    pub(crate) fn deadline(&self) -> Duration {
        self.options.deadline
    }

    /// Announces ranges that will be read soon, in the order of need. A step that was begun is announced to its end, as far as
    /// there is memory: who announces looks at the room before each step.
    pub(crate) fn ahead(self: &Arc<Self>, object: &Arc<Object>, wanted: &[Range<u64>]) {
        if self.is_too_large(object) {
            return;
        }
        {
            let mut table = self.table.hold();
            for span in ranges::join(wanted) {
                if table.is_full() {
                    break;
                }
                table.cover(object, span, false);
            }
        }
        self.pump();
    }

    /// Returns the bytes of each range, in order.
    pub(crate) fn read(self: &Arc<Self>, object: &Arc<Object>, wanted: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // `take` has the error.
        if !self.is_too_large(object) {
            let mut table = self.table.hold();
            // Only what nobody announced is joined: between two rows that are here may lie blocks that nobody wants now.
            let missing: Vec<Range<u64>> =
                wanted.iter().filter(|range| !table.holds(object, range)).cloned().collect();
            for span in ranges::join(&missing) {
                table.cover(object, span, true);
            }
        }
        self.pump();
        wanted.iter().map(|range| self.take(object, range)).collect()
    }

    /// Waits for the bytes of a range.
    fn take(self: &Arc<Self>, object: &Arc<Object>, range: &Range<u64>) -> Result<Bytes> {
        if range.start >= range.end {
            return Ok(Bytes::new());
        }
        if self.is_too_large(object) {
            let what = "the server sends whole files only (it does not know range requests)";
            return Err(self.error(object, Failure::new(Cause::NoRanges, what), 1));
        }
        // Usually the extents of `read`; others if some were dropped since, or if the server sends only whole objects.
        let mut extents = self.table.hold().cover(object, range.clone(), true);
        // The server may turn out to send whole objects at this moment: then there is more than was asked for.
        extents.retain(|extent| extent.range.start < range.end && range.start < extent.range.end);
        self.pump();
        let mut parts = Vec::with_capacity(extents.len());
        for extent in &extents {
            match self.wait(extent) {
                Ok(bytes) => {
                    let from = range.start.max(extent.range.start);
                    let to = range.end.min(extent.range.end);
                    parts.push(
                        bytes.slice((from - extent.range.start) as usize..(to - extent.range.start) as usize),
                    );
                    self.table.hold().used(extent, to - from);
                }
                Err(Lost::Cancelled) => return Err(cancelled()),
                Err(Lost::Failed(failure, tries)) => {
                    self.table.hold().remove(extent);
                    // Several parts may be refused at once: each of those who wait for one asks for the whole then.
                    if failure.cause == Cause::NoRanges && extent.range != (0..object.size) {
                        object.whole.store(true, Relaxed);
                        return self.take(object, range);
                    }
                    return Err(self.error(object, failure, tries));
                }
            }
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => {
                let mut buffer = self.pool.take((range.end - range.start) as usize)?;
                let mut at = 0;
                for part in &parts {
                    buffer[at..at + part.len()].copy_from_slice(part);
                    at += part.len();
                }
                Ok(buffer.freeze())
            }
        }
    }

    fn error(&self, object: &Object, failure: Failure, tries: u32) -> Error {
        let failure = match failure.cause {
            Cause::NoRanges => {
                let what = format!(
                    "{}, and this one has {} bytes, more than may lie in memory ({}); copy the data, or read it as a \
                     stream: `pipe:curl -s URL`",
                    failure.what, object.size, self.options.ahead
                );
                Failure::new(Cause::NoRanges, what)
            }
            _ => failure,
        };
        failure.error("read", &object.url, tries)
    }

    fn wait(&self, extent: &Extent) -> Result<Bytes, Lost> {
        let mut state = extent.state.hold();
        let mut waited = false;
        loop {
            match &*state {
                State::Here(bytes) => {
                    let count = if waited { &COUNTERS.waited } else { &COUNTERS.ready };
                    count.fetch_add(1, Relaxed);
                    return Ok(bytes.clone());
                }
                State::Lost(failure, tries) => return Err(Lost::Failed(failure.clone(), *tries)),
                State::Coming => {}
            }
            if signals::is_cancelled() {
                return Err(Lost::Cancelled);
            }
            if !waited {
                waited = true;
                extent.await_it();
            }
            state =
                extent.arrived.wait_timeout(state, SLICE).map_or_else(|e| e.into_inner().0, |woken| woken.0);
        }
    }

    /// Starts as many requests as may run.
    fn pump(self: &Arc<Self>) {
        loop {
            let extent = {
                let mut table = self.table.hold();
                let mut flow = self.flow.hold();
                if let Some(next) = table.peek() {
                    flow.begin_with(next.object.backend.first_requests());
                }
                let Some(extent) = table.next(flow.limit()) else { return };
                extent
            };
            let Ok(handle) = runtime::handle() else { return self.fail_all(&extent) };
            let (fetcher, begun) = (Arc::clone(self), Instant::now());
            handle.spawn(async move {
                // A bug must not leave a reader waiting.
                let result = AssertUnwindSafe(request::fetch(&fetcher, &extent)).catch_unwind().await;
                let broke = |_| Err((Failure::new(Cause::Refused, "the request panicked"), 1));
                let result = result.unwrap_or_else(broke);
                let len = extent.range.end - extent.range.start;
                extent.finish(result);
                let took = begun.elapsed();
                let target = fetcher.pace.hold().count(len, took);
                let busy = fetcher.table.hold().ended(target);
                fetcher.flow.hold().count(len, took, busy);
                fetcher.pump();
            });
        }
    }

    /// There are no threads for requests: whoever waits must hear of it.
    fn fail_all(&self, first: &Arc<Extent>) {
        let mut table = self.table.hold();
        let mut next = Some(Arc::clone(first));
        while let Some(extent) = next {
            extent.finish(Err((Failure::new(Cause::Refused, "no thread for requests could be started"), 1)));
            table.ended(0);
            next = table.next(usize::MAX);
        }
    }
}

/// Why bytes did not come.
enum Lost {
    Cancelled,
    Failed(Failure, u32),
}

#[cfg(test)]
mod tests;
