//! What each thread is doing, for the error of a run that stalls.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// What a thread can be busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Reading a piece that begins with this row.
    Reading(u64),
    /// Decoding and transforming this row.
    Making(u64),
    /// Waiting for a stream.
    Pulling,
    Nothing,
}

/// One slot per thread. A thread writes to its own only; the consumer reads all of them when it has waited too long.
#[derive(Debug)]
pub(super) struct Activity {
    start: Instant,
    slots: Vec<Slot>,
}

/// Slots lie apart: threads that write to one cache line wait for each other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    /// The row, and in the two upper bits what is done to it.
    doing: AtomicU64,
    /// Milliseconds after the start.
    since: AtomicU64,
}

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

const ROW: u64 = u64::MAX >> 2;

impl Activity {
    pub(super) fn new(threads: usize) -> Self {
        Activity { start: Instant::now(), slots: (0..threads).map(|_| Slot::default()).collect() }
    }

    /// Gives the current thread its slot.
    pub(super) fn enter(number: usize) {
        NUMBER.set(number);
    }

    /// Notes that something began at a time.
    pub(super) fn begin(&self, doing: Doing, at: Instant) {
        if let Some(slot) = self.slots.get(NUMBER.get()) {
            slot.since.store(at.saturating_duration_since(self.start).as_millis() as u64, Relaxed);
            slot.doing.store(encode(doing), Relaxed);
        }
    }

    /// Notes the next row of the same thing, or the end. Cheap: called for every sample.
    #[inline]
    pub(super) fn next(&self, doing: Doing) {
        if let Some(slot) = self.slots.get(NUMBER.get()) {
            slot.doing.store(encode(doing), Relaxed);
        }
    }

    /// What threads are busy with, longest first.
    pub(super) fn busy(&self) -> Vec<(Doing, Duration)> {
        let now = self.start.elapsed().as_millis() as u64;
        let state = |slot: &Slot| {
            let since = now.saturating_sub(slot.since.load(Relaxed));
            (decode(slot.doing.load(Relaxed)), Duration::from_millis(since))
        };
        let mut busy: Vec<_> =
            self.slots.iter().map(state).filter(|(doing, _)| *doing != Doing::Nothing).collect();
        busy.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        busy
    }
}

fn encode(doing: Doing) -> u64 {
    match doing {
        Doing::Nothing => 0,
        Doing::Pulling => 1 << 62,
        Doing::Reading(row) => 2 << 62 | row & ROW,
        Doing::Making(row) => 3 << 62 | row & ROW,
    }
}

fn decode(word: u64) -> Doing {
    match word >> 62 {
        0 => Doing::Nothing,
        1 => Doing::Pulling,
        2 => Doing::Reading(word & ROW),
        _ => Doing::Making(word & ROW),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_say_what_they_do() {
        let activity = Activity::new(2);
        assert!(activity.busy().is_empty());
        Activity::enter(1);
        for doing in [Doing::Reading(7), Doing::Making(1 << 40), Doing::Pulling] {
            activity.begin(doing, Instant::now());
            assert_eq!(activity.busy()[0].0, doing);
        }
        activity.next(Doing::Nothing);
        assert!(activity.busy().is_empty());
        // A thread without a slot is no error.
        Activity::enter(9);
        activity.begin(Doing::Pulling, Instant::now());
        assert!(activity.busy().is_empty());
        Activity::enter(usize::MAX);
    }
}
