//! The threads that requests run on.
//!
//! One runtime per process, made at the first request and never dropped: its threads only wait for sockets, and the end
//! of the process ends them. A child of a fork has none of the threads, so it makes a runtime of its own and never
//! touches the copy of its parent's, whose locks may be held by threads that are not there.

use infeed_core::{Error, Result, signals};
use std::{
    future::Future,
    process,
    sync::{OnceLock, mpsc},
    time::Duration,
};
use tokio::runtime::{Builder, Handle, Runtime};

/// How often a thread that waits looks whether its run is over.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

/// Something that each process makes for itself: what a parent made is left alone.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    mine: OnceLock<(u32, T)>,
    /// Of a child of the process that made `mine`.
    next: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        PerProcess { mine: OnceLock::new(), next: OnceLock::new() }
    }

    /// Returns what this process has, made at the first call.
    pub(crate) fn get(&self, make: impl Fn() -> T) -> &T {
        let (mut node, this) = (self, process::id());
        loop {
            let (owner, value) = node.mine.get_or_init(|| (this, make()));
            if *owner == this {
                return value;
            }
            node = node.next.get_or_init(|| Box::new(PerProcess::new()));
        }
    }
}

/// The runtime of this process.
pub(crate) fn handle() -> Result<Handle> {
    static RUNTIME: PerProcess<std::io::Result<Runtime>> = PerProcess::new();
    match RUNTIME.get(start) {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(e) => {
            let again = std::io::Error::new(e.kind(), e.to_string());
            Err(Error::io("start threads for", "remote stores", again))
        }
    }
}

fn start() -> std::io::Result<Runtime> {
    // TLS takes the provider of the process; another library may have installed one, which does as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // One thread moves 2 GB/s, if it is let: two share the work when the processors are busy with batches.
    let threads = (cpus / 4).clamp(2, 4);
    Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(4)
        .thread_name("infeed-net")
        .enable_all()
        .build()
}

/// Runs a future on the runtime and waits for it, or until the run of this thread is over.
pub(crate) fn wait<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let (done, result) = mpsc::sync_channel(1);
    let task = handle()?.spawn(async move {
        // Nobody listens any more if the run is over.
        let _ = done.send(work.await);
    });
    loop {
        match result.recv_timeout(SLICE) {
            Ok(result) => return result,
            Err(mpsc::RecvTimeoutError::Timeout) if !signals::is_cancelled() => {}
            Err(mpsc::RecvTimeoutError::Timeout) => {
                task.abort();
                return Err(cancelled());
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Error::Internal { what: "a request ended without a result".to_owned() });
            }
        }
    }
}

/// The error of a wait that was ended because nobody needs its result.
pub(crate) fn cancelled() -> Error {
    let what = std::io::Error::new(std::io::ErrorKind::Interrupted, "the run was ended");
    Error::io("read", "a remote store", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_own() {
        let value: PerProcess<u32> = PerProcess::new();
        let first = *value.get(|| 7);
        assert_eq!((first, *value.get(|| 8)), (7, 7));
        // As after a fork: what is there belongs to another process.
        let other = PerProcess { mine: OnceLock::from((0, 7)), next: OnceLock::new() };
        assert_eq!((*other.get(|| 9), *other.get(|| 10)), (9, 9));
    }

    #[test]
    fn waits_end_with_their_run() {
        let signals = std::sync::Arc::new(signals::Signals::default());
        let _entered = signals::enter(&signals);
        assert_eq!(wait(async { Ok(3) }).unwrap(), 3);
        signals.cancel();
        let never: Result<()> = wait(std::future::pending());
        assert!(never.unwrap_err().to_string().contains("ended"));
    }
}
