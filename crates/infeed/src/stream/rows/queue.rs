//! The queue of blocks from the reading thread via the parsing threads to the consumer.

use super::blocks::RowBlock;
use infeed_core::{Hold, Record, Result, WaitHeld};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard},
};

/// Maximum bytes of queued blocks; a single larger one is let through.
const BYTES: u64 = 16 << 20;

/// Queued bytes from which on the consumer parses blocks, too. Decompression is a single thread and the bottleneck:
/// while the helpers keep up with it, another parsing thread would only take its CPU.
const BEHIND: u64 = 4 << 20;

/// The records of a block, each with its own error if it is bad.
pub(super) type Records = Vec<Result<Record>>;

/// The state of a block.
#[derive(Debug)]
enum Slot {
    Waiting(Arc<RowBlock>),
    /// A thread is parsing it.
    Taken(Arc<RowBlock>),
    Done(Arc<RowBlock>, Records),
}

#[derive(Debug, Default)]
struct State {
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: u64,
    bytes: u64,
    fields: Option<Arc<[Arc<str>]>>,
    /// The result, once reading has ended.
    end: Option<Result<()>>,
    /// Whether the consumer is gone.
    dropped: bool,
}

/// Blocks in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Signalled for the consumer (`more`) and for the parsing threads (`work`).
    more: Condvar,
    work: Condvar,
    /// Signalled when a block is taken or the consumer is gone.
    room: Condvar,
}

/// What the consumer gets.
pub(super) enum Next {
    /// A block with its records.
    Done(Arc<RowBlock>, Records),
    /// A block that the caller must parse.
    Raw(Arc<RowBlock>),
    /// The end.
    End,
}

/// A block to parse, its number and the fields that are wanted.
pub(super) type Job = (u64, Arc<RowBlock>, Arc<[Arc<str>]>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.hold()
    }

    /// Adds a block once there is room. Returns whether more are wanted.
    pub(super) fn put(&self, block: RowBlock) -> bool {
        let size = block.size();
        let mut state = self.lock();
        while !state.dropped && !state.slots.is_empty() && state.bytes + size > BYTES {
            state = self.room.wait_held(state);
        }
        if state.dropped {
            return false;
        }
        state.bytes += size;
        state.slots.push_back(Slot::Waiting(Arc::new(block)));
        self.work.notify_one();
        self.more.notify_one();
        true
    }

    /// Records how reading or parsing ended.
    pub(super) fn end(&self, end: Result<()>) {
        let mut state = self.lock();
        if state.end.is_none() || end.is_err() {
            state.end = Some(end);
        }
        self.more.notify_all();
        self.work.notify_all();
    }

    /// Ends the queue: the consumer wants no more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.dropped = true;
        state.slots.clear();
        self.room.notify_all();
        self.work.notify_all();
    }

    /// Sets the wanted fields.
    pub(super) fn want(&self, fields: &Arc<[Arc<str>]>) {
        self.lock().fields = Some(Arc::clone(fields));
        self.work.notify_all();
    }

    /// Returns the next unparsed block; `None` if there will be no more. The last block is left to the consumer.
    pub(super) fn job(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.dropped {
                return None;
            }
            if let Some(fields) = state.fields.clone()
                && let Some(at) = state.slots.iter().position(|slot| matches!(slot, Slot::Waiting(_)))
                && let Slot::Waiting(block) = &state.slots[at]
            {
                let block = Arc::clone(block);
                state.slots[at] = Slot::Taken(Arc::clone(&block));
                return Some((state.first + at as u64, block, fields));
            }
            if state.end.is_some() {
                return None;
            }
            state = self.work.wait_held(state);
        }
    }

    /// Stores the records of a block.
    pub(super) fn done(&self, number: u64, records: Records) {
        let mut state = self.lock();
        let at = number.checked_sub(state.first).and_then(|at| usize::try_from(at).ok());
        // A block that was skipped meanwhile is gone.
        if let Some(slot) = at.and_then(|at| state.slots.get_mut(at))
            && let Slot::Taken(block) = slot
        {
            *slot = Slot::Done(Arc::clone(block), records);
        }
        drop(state);
        self.more.notify_one();
    }

    /// Whether the first block, if unparsed, is better left to the parsing threads. They are certain to take it.
    fn leave(state: &State) -> bool {
        state.bytes < BEHIND && state.fields.is_some() && state.end.is_none()
    }

    /// Returns the next block. With `skip`, a block of at most that many rows is returned as it is, even while it is
    /// parsed.
    pub(super) fn next(&self, skip: Option<u64>) -> Result<Next> {
        let mut state = self.lock();
        loop {
            let over = |block: &Arc<RowBlock>| skip.is_some_and(|rows| block.len() as u64 <= rows);
            let ready = match state.slots.front() {
                Some(Slot::Taken(block)) => over(block),
                Some(Slot::Waiting(_)) => skip.is_some() || !Self::leave(&state),
                Some(Slot::Done(..)) => true,
                None => false,
            };
            if ready && let Some(slot) = state.slots.pop_front() {
                state.first += 1;
                let next = match slot {
                    Slot::Done(block, records) => Next::Done(block, records),
                    Slot::Waiting(block) | Slot::Taken(block) => Next::Raw(block),
                };
                let (Next::Done(block, _) | Next::Raw(block)) = &next else { return Ok(next) };
                state.bytes -= block.size();
                self.room.notify_one();
                return Ok(next);
            }
            if state.slots.is_empty()
                && let Some(end) = &state.end
            {
                return end.clone().map(|()| Next::End);
            }
            state = self.more.wait_held(state);
        }
    }
}
