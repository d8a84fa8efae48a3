//! Rows prefetched on a thread, up to a limit.

use super::{
    input::Stop,
    parts::{Keep, Sequence},
    tar::{TarCut, TarRow},
};
use infeed_core::{Error, Hold, Result, WaitHeld, signals};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{self, JoinHandle},
};

/// Maximum bytes in the queue; a single larger row is let through.
const BYTES: u64 = 32 << 20;
/// Maximum rows in the queue: with small rows, more are not needed to bridge a pause.
const ROWS: usize = 4096;

/// The prefetched rows.
#[derive(Debug, Default)]
struct Ready {
    rows: VecDeque<(Arc<str>, TarRow)>,
    bytes: u64,
    /// The result, once reading has ended.
    end: Option<Result<()>>,
    /// Whether the consumer is gone.
    dropped: bool,
}

#[derive(Debug, Default)]
struct Shared {
    ready: Mutex<Ready>,
    /// Signalled when a row is added or reading ends.
    more: Condvar,
    /// Signalled when a row is taken or the consumer is dropped.
    room: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.ready.hold()
    }

    /// Adds a row once there is room. Returns whether more rows are wanted.
    fn put(&self, row: (Arc<str>, TarRow)) -> bool {
        let mut ready = self.lock();
        loop {
            if ready.dropped {
                return false;
            }
            let full = ready.rows.len() >= ROWS || ready.bytes + row.1.size > BYTES;
            if ready.rows.is_empty() || !full {
                break;
            }
            ready = self.room.wait_held(ready);
        }
        ready.bytes += row.1.size;
        ready.rows.push_back(row);
        self.more.notify_one();
        true
    }
}

/// A sequence that is prefetched on a thread. Dropping it ends the thread and joins it.
#[derive(Debug)]
pub(super) struct Ahead {
    shared: Arc<Shared>,
    stops: Vec<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Starts reading.
    pub(super) fn start(mut sequence: Sequence<TarCut>) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (stops, ours) = (sequence.stops(), Arc::clone(&shared));
        let inherit = signals::inherit();
        let work = move || {
            let _entered = inherit();
            let run = || {
                while let Some(row) = sequence.next(Keep::Data)? {
                    if !ours.put(row) {
                        break;
                    }
                }
                Ok(())
            };
            // The sequence is not used after a panic: it is dropped with this thread.
            let end = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(&*panic)));
            ours.lock().end = Some(end);
            ours.more.notify_one();
        };
        let thread = thread::Builder::new().name("infeed-stream".to_owned()).spawn(work);
        let thread = thread.map_err(|e| Error::io("start", "a thread for the stream", e))?;
        Ok(Ahead { shared, stops, thread: Some(thread) })
    }

    /// Waits for the next row and returns it. An error is repeated on every call.
    pub(super) fn next(&mut self) -> Result<Option<(Arc<str>, TarRow)>> {
        let mut ready = self.shared.lock();
        loop {
            if let Some(row) = ready.rows.pop_front() {
                ready.bytes -= row.1.size;
                self.shared.room.notify_one();
                return Ok(Some(row));
            }
            if let Some(end) = &ready.end {
                return end.clone().map(|()| None);
            }
            ready = self.shared.more.wait_held(ready);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stops.iter().for_each(Stop::set);
        let rows = {
            let mut ready = self.shared.lock();
            ready.dropped = true;
            std::mem::take(&mut ready.rows)
        };
        self.shared.room.notify_one();
        drop(rows);
        if let Some(thread) = self.thread.take() {
            // Its panics were caught; another one could not be reported.
            let _ = thread.join();
        }
    }
}

/// Returns the message of a panic as an error.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::Internal { what: format!("a stream panicked: {said}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        store::{Pool, Stores},
        stream::{Opening, parts::Parts},
    };
    use std::time::Duration;

    #[test]
    fn no_more_than_the_limit_waits() {
        let mut out = ::tar::Builder::new(Vec::new());
        for row in 0..80 {
            let mut head = ::tar::Header::new_gnu();
            head.set_size(1 << 20);
            out.append_data(&mut head, format!("{row}.x"), vec![row; 1 << 20].as_slice()).unwrap();
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), out.into_inner().unwrap()).unwrap();
        let part = Opening::File(file.path().to_str().unwrap().to_owned());
        let parts = Parts::new(
            TarCut { pool: Pool::new(0), largest: u64::MAX.into(), watch: Default::default() },
            Stores::shared(),
            vec![part],
        )
        .unwrap();
        let sequence = Sequence::new(&Arc::new(parts), &[0, 0]).unwrap();
        let mut ahead = Ahead::start(sequence).unwrap();
        for row in 0..160u8 {
            while row == 40 && ahead.shared.lock().rows.len() < 32 {
                thread::sleep(Duration::from_millis(1));
            }
            let waiting = ahead.shared.lock().bytes;
            assert!(waiting <= BYTES, "{waiting}");
            let (_, found) = ahead.next().unwrap().unwrap();
            assert!(found.fields[0].1.iter().all(|b| *b == row % 80));
        }
        assert!(ahead.next().unwrap().is_none());
        assert!(ahead.next().unwrap().is_none());
    }
}
