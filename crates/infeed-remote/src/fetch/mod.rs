//! Which bytes are here, on their way, or wanted.
//!
//! A [`Fetcher`] keeps *extents*: parts of objects that were asked for, each one request. Readers announce what they will need
//! (`ahead`) and later take it (`read`); an extent that nobody announced is fetched when it is read. Neighbours are joined
//! where the gap is cheaper than another request, and large ranges are split, so that several connections bring them.
//!
//! **Memory.** Extents that were not read yet may fill half of the limit; then announcements are not taken ([`Fetcher::room`]).
//! An extent whose bytes were all read is dropped at once. One that was read in part (a block of rows that are shuffled) stays
//! until the memory is needed, the one that was used least recently first. A read that somebody waits for is never refused.
//!
//! **Who waits for whom.** Threads of readers wait for an extent on its own condition. Requests run on the runtime; when one
//! ends, it starts the next from the queue. Nothing waits while it holds the lock of the table.

mod extent;
mod flow;
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
use std::{
    ops::Range,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use table::Table;

pub(crate) use request::retrying;

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

/// Brings bytes.
#[derive(Debug)]
pub(crate) struct Fetcher {
    table: Mutex<Table>,
    flow: Mutex<Flow>,
    pool: Arc<Pool>,
    options: StoreOptions,
}

impl Fetcher {
    pub(crate) fn new(options: StoreOptions) -> Arc<Self> {
        Arc::new(Fetcher {
            table: Mutex::new(Table::new(options.ahead)),
            flow: Mutex::new(Flow::new(options.requests)),
            // What one window of blocks leaves behind, the next one takes.
            pool: Pool::new(usize::try_from(options.ahead / 2).unwrap_or(usize::MAX)),
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

    /// Forgets what was announced and not read.
    pub(crate) fn forget(&self) {
        self.table.hold().forget();
    }

    /// Announces ranges that will be read soon, in the order of need.
    pub(crate) fn ahead(self: &Arc<Self>, object: &Arc<Object>, wanted: &[Range<u64>]) {
        {
            let mut table = self.table.hold();
            for span in ranges::join(wanted) {
                if table.room() == 0 {
                    break;
                }
                table.cover(object, span, false);
            }
        }
        self.pump();
    }

    /// Returns the bytes of each range, in order.
    pub(crate) fn read(self: &Arc<Self>, object: &Arc<Object>, wanted: &[Range<u64>]) -> Result<Vec<Bytes>> {
        {
            let mut table = self.table.hold();
            for span in ranges::join(wanted) {
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
        if object.whole.load(Relaxed) && object.size > self.options.ahead {
            let what = "the server sends whole files only (it does not know range requests)";
            return Err(self.error(object, Failure::new(Cause::NoRanges, what), 1));
        }
        // Usually the extents of `read`; others if some were dropped since, or if the server sends only whole objects.
        let extents = self.table.hold().cover(object, range.clone(), true);
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
                    if failure.cause == Cause::NoRanges && !object.whole.swap(true, Relaxed) {
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
            waited = true;
            state =
                extent.arrived.wait_timeout(state, SLICE).map_or_else(|e| e.into_inner().0, |woken| woken.0);
        }
    }

    /// Starts as many requests as may run.
    fn pump(self: &Arc<Self>) {
        let Ok(handle) = runtime::handle() else { return self.fail_all() };
        loop {
            let extent = {
                let mut table = self.table.hold();
                let Some(extent) = table.next(self.flow.hold().limit()) else { return };
                extent
            };
            let fetcher = Arc::clone(self);
            handle.spawn(async move {
                // A bug must not leave a reader waiting.
                let result = AssertUnwindSafe(request::fetch(&fetcher, &extent)).catch_unwind().await;
                let broke = |_| Err((Failure::new(Cause::Refused, "the request panicked"), 1));
                let result = result.unwrap_or_else(broke);
                let len = extent.range.end - extent.range.start;
                extent.finish(result);
                let busy = fetcher.table.hold().ended();
                fetcher.flow.hold().count(len, busy);
                fetcher.pump();
            });
        }
    }

    /// There are no threads for requests: whoever waits must hear of it.
    fn fail_all(&self) {
        let mut table = self.table.hold();
        while let Some(extent) = table.next(usize::MAX) {
            extent.finish(Err((Failure::new(Cause::Refused, "no thread for requests could be started"), 1)));
            table.ended();
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
