//! The same work for many numbers, on all CPUs. No pool: threads end before the call does, so forks are safe.

use infeed_core::{Error, Result};
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// `work(0)`, `work(1)`, ... in order; the first error wins.
pub(crate) fn map<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count);
    if threads <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<T>>>> = Mutex::new((0..count).map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= count {
                        break;
                    }
                    let result = work(place);
                    if result.is_err() {
                        // Nobody needs what comes after; what came before may still fail first.
                        next.fetch_max(count, Ordering::Relaxed);
                    }
                    if let Ok(mut done) = done.lock() {
                        done[place] = Some(result);
                    }
                }
            });
        }
    });
    let done = done.into_inner().map_err(|_| lost())?;
    let mut out = Vec::with_capacity(count);
    for result in done {
        out.push(result.ok_or_else(lost)??);
    }
    Ok(out)
}

fn lost() -> Error {
    Error::Internal { what: "a thread that reads tables stopped".to_owned() }
}
