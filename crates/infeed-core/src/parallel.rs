//! Runs the same work for many numbers on several threads.
//!
//! There is no pool: the threads end before the call returns, so they cannot be lost in a fork.

use crate::{
    Error, Result,
    signals::{self, Signals},
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

/// Computes `work(0)`, `work(1)`, ... up to `count` on at most `threads` threads, including the caller's, and returns
/// the results in order. The threads work for the run of the caller. Of several errors the one with the lowest number is returned, whatever the timing; work
/// after it may be skipped.
pub fn map<T: Send + Sync>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if threads.min(count) < 2 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Vec<OnceLock<Result<T>>> = (0..count).map(|_| OnceLock::new()).collect();
    let take = || {
        // Numbers are taken in order. When one fails, all before it are done or in progress, so the lowest failure is
        // among those found.
        while !failed.load(Relaxed) {
            let at = next.fetch_add(1, Relaxed);
            let Some(place) = done.get(at) else { break };
            let result = work(at);
            if result.is_err() {
                failed.store(true, Relaxed);
            }
            // Only the thread that took the number fills its place, so it is empty.
            let _ = place.set(result);
        }
    };
    let run = signals::current();
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(|| {
                let _entered = run.as_ref().map(signals::enter);
                take();
            });
        }
        take();
    });
    let lost = || Err(Error::Internal { what: "a thread left its work undone".to_owned() });
    done.into_iter().map(|place| place.into_inner().unwrap_or_else(lost)).collect()
}

/// Like [`map`] over the items of a slice. A thread is started per `worth` items: less work does not justify a thread.
pub fn map_slice<S: Sync, T: Send + Sync>(
    items: &[S],
    threads: usize,
    worth: usize,
    work: impl Fn(&S) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = threads.min(items.len().div_ceil(worth.max(1)));
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let chunk = items.len().div_ceil(threads);
    let chunks: Vec<&[S]> = items.chunks(chunk).collect();
    let parts = map(chunks.len(), threads, |at| chunks[at].iter().map(&work).collect::<Result<Vec<T>>>())?;
    Ok(parts.into_iter().flatten().collect())
}

/// Says that the caller has work that several threads can share, until the result is dropped.
///
/// Each thread of a run that has such work gets an equal share of the threads of the run. A thread without a run gets none but
/// itself.
pub fn share() -> Share {
    let run = signals::current();
    let threads = run.as_ref().map_or(1, |run| run.begin_large());
    Share { run, threads }
}

/// How many threads may work for the caller, itself included.
#[derive(Debug)]
pub struct Share {
    run: Option<Arc<Signals>>,
    threads: usize,
}

impl Share {
    /// Returns the number, at least one.
    pub fn threads(&self) -> usize {
        self.threads
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(run) = &self.run {
            run.end_large();
        }
    }
}

/// Returns the CPUs that this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for threads in [0, 1, 2, 7, 100] {
            assert_eq!(map(50, threads, |n| Ok(n * 2)).unwrap(), (0..100).step_by(2).collect::<Vec<_>>());
        }
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(map_slice(&items, 4, 10, |n| Ok(*n)).unwrap(), items);
        assert_eq!(map_slice(&items, 4, 10_000, |n| Ok(*n)).unwrap(), items);
        assert!(map_slice::<usize, usize>(&[], 4, 1, |n| Ok(*n)).unwrap().is_empty());
    }

    #[test]
    fn threads_are_shared_by_those_who_have_much_to_do() {
        assert_eq!(share().threads(), 1, "without a run");
        let run = Arc::new(Signals::default().with_threads(6));
        let _entered = signals::enter(&run);
        let first = share();
        let second = share();
        assert_eq!((first.threads(), second.threads()), (6, 3));
        drop(first);
        assert_eq!(share().threads(), 3);
        drop(second);
        assert_eq!(share().threads(), 6);
        let many: Vec<Share> = (0..10).map(|_| share()).collect();
        assert_eq!(many.last().unwrap().threads(), 1);
    }

    #[test]
    fn threads_work_for_the_run_of_the_caller() {
        let run = Arc::new(Signals::default());
        let _entered = signals::enter(&run);
        let barrier = std::sync::Barrier::new(4);
        map(4, 4, |_| {
            barrier.wait();
            signals::count_retry();
            Ok(())
        })
        .unwrap();
        assert_eq!(run.retries(), 4);
    }

    #[test]
    fn the_first_of_several_errors_is_returned() {
        for _ in 0..50 {
            let failing = |n: usize| if n >= 3 { Err(Error::argument(format!("{n}"))) } else { Ok(n) };
            assert_eq!(map(64, 8, failing).unwrap_err().to_string(), "3");
        }
    }
}
