//! Signals between a run and the code that its threads call: whether to stop, and what happened on the way.
//!
//! A store or a decoder that has to wait does not know the run it works for. A thread of a run enters its [`Signals`];
//! whatever it calls can then wait with [`pause`], which ends early when the run is cancelled, count retries, and say whether
//! what was announced to it was in memory. Threads without a run wait for the whole time and count nothing.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The signals of one run.
#[derive(Debug, Default)]
pub struct Signals {
    cancelled: AtomicBool,
    retries: Arc<AtomicU64>,
    announced: Arc<Announced>,
    /// Threads that make samples, and how many of them have work to share.
    threads: usize,
    large: AtomicUsize,
}

/// Bytes that were announced to stores, by where they were found.
#[derive(Debug, Default)]
pub struct Announced {
    /// In memory: reading them is a copy.
    pub here: AtomicU64,
    /// On a device, which was asked for them.
    pub away: AtomicU64,
}

impl Signals {
    /// Signals that add to counts of retries and of announced bytes.
    pub fn counting(retries: Arc<AtomicU64>, announced: Arc<Announced>) -> Self {
        Signals { retries, announced, ..Signals::default() }
    }

    /// The same with so many threads that make samples.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Signals { threads, ..self }
    }

    /// Counts a thread that has work to share. Returns how many threads it may have, itself included.
    pub(crate) fn begin_large(&self) -> usize {
        (self.threads / (self.large.fetch_add(1, Relaxed) + 1)).max(1)
    }

    pub(crate) fn end_large(&self) {
        self.large.fetch_sub(1, Relaxed);
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

/// Counts bytes that were announced to a store. A store that cannot tell where they are counts nothing.
pub fn count_announced(bytes: u64, in_memory: bool) {
    CURRENT.with_borrow(|signals| {
        if let Some(signals) = signals {
            let Announced { here, away } = &*signals.announced;
            (if in_memory { here } else { away }).fetch_add(bytes, Relaxed);
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
            count_announced(5, true);
            count_announced(7, false);
            signals.cancel();
            assert!(!pause(Duration::from_secs(3600)));
        }
        assert_eq!(signals.retries(), 1);
        assert_eq!(signals.announced.here.load(Relaxed), 5);
        assert_eq!(signals.announced.away.load(Relaxed), 7);
        count_announced(1, true);
        assert_eq!(signals.announced.here.load(Relaxed), 5, "a thread without a run counts nothing");
        assert!(current().is_none() && !is_cancelled());
    }
}
