//! Numbered jobs on several threads.

use infeed_core::{Error, Result};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

/// Does the jobs `0..count` and gives their results in order; the first error stops the rest.
pub(crate) fn each<T: Send>(
    count: usize,
    threads: usize,
    job: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(count));
    let work = || {
        while !failed.load(Relaxed) {
            let number = next.fetch_add(1, Relaxed);
            if number >= count {
                break;
            }
            let result = job(number);
            if result.is_err() {
                failed.store(true, Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    let all: Vec<T> = done.into_iter().map(|(_, result)| result).collect::<Result<_>>()?;
    if all.len() < count {
        return Err(Error::Internal { what: format!("{} of {count} jobs were done", all.len()) });
    }
    Ok(all)
}
