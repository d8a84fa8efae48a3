//! Signals between a run and the code that its threads call: whether to stop, and what happened on the way.
//!
//! A store or a decoder that has to wait does not know the run it works for. A thread of a run enters its [`Signals`];
//! whatever it calls can then wait with [`pause`], which ends early when the run is cancelled, and count retries. Threads
//! without a run wait for the whole time and count nothing.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The signals of one run.
#[derive(Debug, Default)]
pub struct Signals {
    cancelled: AtomicBool,
    retries: Arc<AtomicU64>,
}

impl Signals {
    /// Signals that add to a count of retries.
    pub fn counting(retries: Arc<AtomicU64>) -> Self {
        Signals { retries, ..Signals::default() }
    }

    /// Tells every thread of the run to stop waiting.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Whether the run is over.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// How many reads were tried again.
    pub fn retries(&self) -> u64 {
        self.retries.load(Relaxed)
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Signals>>> = const { RefCell::new(None) };
}

/// Binds the current thread to a run until the guard is dropped.
pub fn enter(signals: &Arc<Signals>) -> Entered {
    Entered { before: CURRENT.replace(Some(Arc::clone(signals))) }
}

/// Binds a thread to the run that this thread works for: for helpers that a stream starts.
pub fn inherit() -> impl FnOnce() -> Option<Entered> + Send {
    let signals = current();
    move || signals.as_ref().map(enter)
}

/// Restores the thread's earlier signals when dropped.
#[derive(Debug)]
#[must_use]
pub struct Entered {
    before: Option<Arc<Signals>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// The signals that this thread works under.
pub fn current() -> Option<Arc<Signals>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Whether the run of this thread is over.
pub fn is_cancelled() -> bool {
    CURRENT.with_borrow(|signals| signals.as_ref().is_some_and(|s| s.is_cancelled()))
}

/// Counts a read that is tried again.
pub fn count_retry() {
    CURRENT.with_borrow(|signals| {
        if let Some(signals) = signals {
            signals.retries.fetch_add(1, Relaxed);
        }
    });
}

/// The longest time between two looks at the signals.
const SLICE: Duration = Duration::from_millis(20);

/// Waits. Returns `false`, early, when the run of this thread is over.
pub fn pause(time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        if is_cancelled() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(SLICE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_run_does_not_wait() {
        let signals = Arc::new(Signals::default());
        {
            let _entered = enter(&signals);
            assert!(pause(Duration::from_millis(1)));
            count_retry();
            signals.cancel();
            assert!(!pause(Duration::from_secs(3600)));
        }
        assert_eq!(signals.retries(), 1);
        assert!(current().is_none() && !is_cancelled());
    }
}
