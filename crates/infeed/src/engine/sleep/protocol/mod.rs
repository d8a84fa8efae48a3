//! The lock, the counts of sleeping, waiting and busy threads, and what only the lock's holder may change.

mod events;
mod hand;

pub(crate) use hand::{Look, ThreadKind};

use super::sync::{Condvar, Hold, Mutex, MutexGuard, WaitHeld};
use std::{
    ops::{Deref, DerefMut},
    time::{Duration, Instant},
};

/// What the threads work on, as far as sleeping and waking depend on it.
pub(crate) trait Board {
    /// Whether there is work for a worker.
    fn has_work(&self) -> bool;

    /// Whether I/O threads should read ahead.
    fn wants_readers(&self) -> bool;

    /// Whether the oldest batch is done.
    fn is_ready(&self) -> bool;

    /// Whether the consumer has so many finished batches ahead that making more can wait.
    fn well_ahead(&self) -> bool;
}

/// Counts of threads by state.
#[derive(Debug, Default)]
struct Roster {
    /// I/O threads that sleep.
    idle_readers: usize,
    /// Workers that sleep. Needless wake-ups are avoided: one costs more than a small sample.
    idle_workers: usize,
    /// Workers among them that were woken and have not run yet.
    woken: usize,
    /// Consumers that wait for a batch.
    waiting: usize,
    /// Threads that are working and may hold locks of sources, pools and orders.
    busy: usize,
    /// Whether no thread may start work: the process is about to fork.
    paused: bool,
    /// Set once, when every thread must exit.
    stopped: bool,
}

#[derive(Debug)]
struct Inside<B> {
    board: B,
    roster: Roster,
}

/// The one lock of an engine and the condition variables its threads sleep on.
#[derive(Debug)]
pub(crate) struct Sleep<B> {
    inside: Mutex<Inside<B>>,
    /// For I/O threads: there may be something to read or to plan.
    readers: Condvar,
    /// For workers: there may be something to do.
    workers: Condvar,
    /// For consumers: the oldest batch is done.
    consumers: Condvar,
    /// For the thread that is about to fork: no thread is working.
    quiet: Condvar,
}

/// The board, with the lock held.
#[derive(Debug)]
pub(crate) struct Held<'a, B> {
    sleep: &'a Sleep<B>,
    inside: MutexGuard<'a, Inside<B>>,
}

impl<B: Board> Sleep<B> {
    pub(crate) fn new(board: B) -> Self {
        Sleep {
            inside: Mutex::new(Inside { board, roster: Roster::default() }),
            readers: Condvar::new(),
            workers: Condvar::new(),
            consumers: Condvar::new(),
            quiet: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> Held<'_, B> {
        Held { sleep: self, inside: self.inside.hold() }
    }

    /// Blocks a consumer until the oldest batch is done or the engine stops. Returns `None` once `patience`, counted
    /// from `start`, has passed.
    pub(crate) fn until_ready(&self, start: Instant, patience: Option<Duration>) -> Option<Held<'_, B>> {
        let mut held = self.lock();
        while !held.is_ready_or_stopped() {
            if patience == Some(Duration::ZERO) {
                return None;
            }
            let left = patience.map(|patience| patience.saturating_sub(start.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            held.inside.roster.waiting += 1;
            held = match left {
                None => held.wait(&self.consumers),
                Some(left) => held.wait_for(&self.consumers, left),
            };
            held.inside.roster.waiting -= 1;
        }
        Some(held)
    }

    /// Keeps threads from starting work and waits, at most `patience`, until none is working. After a fork the child
    /// then has no lock that is held by a thread it does not have. Returns whether none is working.
    pub(crate) fn pause(&self, patience: Duration) -> bool {
        let mut held = self.lock();
        held.inside.roster.paused = true;
        let start = Instant::now();
        while held.inside.roster.busy > 0 {
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return false;
            }
            held = held.wait_for(&self.quiet, left);
        }
        true
    }

    /// Ends a pause. Wakes every thread, because each may have work.
    pub(crate) fn go_on(&self) {
        self.lock().inside.roster.paused = false;
        self.readers.notify_all();
        self.workers.notify_all();
    }

    /// Stops the engine. Wakes every thread and consumer.
    pub(crate) fn stop(&self) {
        self.lock().inside.roster.stopped = true;
        self.readers.notify_all();
        self.workers.notify_all();
        self.consumers.notify_all();
    }
}

impl<B: Board> Held<'_, B> {
    /// Whether the engine is stopping.
    pub(crate) fn is_stopped(&self) -> bool {
        self.inside.roster.stopped
    }

    /// Whether a consumer would return without waiting.
    pub(crate) fn is_ready_or_stopped(&self) -> bool {
        self.is_stopped() || self.is_ready()
    }

    /// Counts a thread as no longer busy.
    fn come_back(&mut self) {
        let roster = &mut self.inside.roster;
        roster.busy -= 1;
        if roster.paused && roster.busy == 0 {
            self.sleep.quiet.notify_all();
        }
    }
}

impl<'a, B: Board> Held<'a, B> {
    /// Runs work that may release the lock on the way. A pause waits for its end.
    pub(crate) fn busy_with(mut self, work: impl FnOnce(Self) -> Self) -> Self {
        self.inside.roster.busy += 1;
        let mut held = work(self);
        held.come_back();
        held
    }

    /// Runs work without the lock.
    pub(crate) fn let_go<T>(self, work: impl FnOnce() -> T) -> (Self, T) {
        let sleep = self.sleep;
        drop(self);
        let done = work();
        (sleep.lock(), done)
    }

    fn wait(self, on: &Condvar) -> Self {
        Held { sleep: self.sleep, inside: on.wait_held(self.inside) }
    }

    fn wait_for(self, on: &Condvar, at_most: Duration) -> Self {
        Held { sleep: self.sleep, inside: on.wait_held_for(self.inside, at_most) }
    }
}

impl<B> Deref for Held<'_, B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.inside.board
    }
}

impl<B> DerefMut for Held<'_, B> {
    fn deref_mut(&mut self) -> &mut B {
        &mut self.inside.board
    }
}
