//! How a thread looks for work, and sleeps while there is none.

use super::{Board, Condvar, Held, Sleep};

/// The kinds of threads that take work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadKind {
    /// An I/O thread.
    Reader,
    /// A CPU worker.
    Worker,
}

/// The result of looking for work.
#[derive(Debug)]
pub(crate) enum Look<'a, B, J> {
    /// Work to be done without the lock.
    Found(Held<'a, B>, J),
    /// The board changed: look once more.
    Again(Held<'a, B>),
    /// No work: sleep.
    Nothing(Held<'a, B>),
}

/// A thread that takes work.
#[derive(Debug)]
pub(crate) struct Hand<'a, B> {
    sleep: &'a Sleep<B>,
    kind: ThreadKind,
    at_work: bool,
}

impl<B: Board> Sleep<B> {
    /// Registers a thread that takes work.
    pub(crate) fn hand(&self, kind: ThreadKind) -> Hand<'_, B> {
        Hand { sleep: self, kind, at_work: false }
    }
}

impl<'a, B: Board> Hand<'a, B> {
    /// Returns the next work, sleeping while there is none; `None` means exit. The work returned before counts as done.
    pub(crate) fn next<J>(&mut self, mut look: impl FnMut(Held<'a, B>) -> Look<'a, B, J>) -> Option<J> {
        let mut held = self.sleep.lock();
        if std::mem::take(&mut self.at_work) {
            held.come_back();
        }
        loop {
            if held.inside.roster.stopped {
                return None;
            }
            if held.inside.roster.paused {
                held = held.wait(self.bed());
                continue;
            }
            held = match look(held) {
                Look::Found(mut held, job) => {
                    if self.kind == ThreadKind::Worker {
                        held.work_found();
                    }
                    held.inside.roster.busy += 1;
                    self.at_work = true;
                    return Some(job);
                }
                Look::Again(held) => held,
                Look::Nothing(held) => self.rest(held),
            };
        }
    }

    fn bed(&self) -> &'a Condvar {
        match self.kind {
            ThreadKind::Reader => &self.sleep.readers,
            ThreadKind::Worker => &self.sleep.workers,
        }
    }

    fn rest(&self, mut held: Held<'a, B>) -> Held<'a, B> {
        match self.kind {
            ThreadKind::Reader => {
                held.inside.roster.idle_readers += 1;
                held = held.wait(self.bed());
                held.inside.roster.idle_readers -= 1;
            }
            ThreadKind::Worker => {
                held.inside.roster.idle_workers += 1;
                held = held.wait(self.bed());
                let roster = &mut held.inside.roster;
                roster.idle_workers -= 1;
                roster.woken = roster.woken.saturating_sub(1);
            }
        }
        held
    }
}
