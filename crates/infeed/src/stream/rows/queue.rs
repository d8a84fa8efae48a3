//! Blocks on their way from the thread that reads them, by way of those that take them apart, to whoever wants the rows.

use super::blocks::RowBlock;
use infeed_core::{Hold, Record, Result, WaitHeld};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard},
};

/// Bytes of blocks that wait at most; a single larger one is let through.
const BYTES: u64 = 16 << 20;

/// Bytes that wait before the consumer takes blocks apart, too. Decompressing is one thread's work and nothing goes faster
/// than it: as long as it keeps its helpers busy, another thread would only take its processor.
const BEHIND: u64 = 4 << 20;

/// The records of a block, or what is wrong with each.
pub(super) type Records = Vec<Result<Record>>;

/// How far a block has come.
#[derive(Debug)]
enum Slot {
    Waiting(Arc<RowBlock>),
    /// Somebody is at it.
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
    /// How the reading ended, when it has.
    end: Option<Result<()>>,
    /// Nobody wants more.
    dropped: bool,
}

/// Blocks in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something has changed that the consumer or those who take blocks apart wait for.
    more: Condvar,
    work: Condvar,
    /// A block has gone, or the consumer.
    room: Condvar,
}

/// What the consumer gets.
pub(super) enum Next {
    /// A block with its records.
    Done(Arc<RowBlock>, Records),
    /// A block that is still to be taken apart, by whoever asked.
    Raw(Arc<RowBlock>),
    /// The end.
    End,
}

/// A block to take apart, its number and the fields that are wanted.
pub(super) type Job = (u64, Arc<RowBlock>, Arc<[Arc<str>]>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.hold()
    }

    /// Adds a block when there is room; says whether anybody still wants one.
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

    /// Says how the reading, or the taking apart, ended.
    pub(super) fn end(&self, end: Result<()>) {
        let mut state = self.lock();
        if state.end.is_none() || end.is_err() {
            state.end = Some(end);
        }
        self.more.notify_all();
        self.work.notify_all();
    }

    /// Nobody wants more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.dropped = true;
        state.slots.clear();
        self.room.notify_all();
        self.work.notify_all();
    }

    /// Says which fields are wanted.
    pub(super) fn want(&self, fields: &Arc<[Arc<str>]>) {
        self.lock().fields = Some(Arc::clone(fields));
        self.work.notify_all();
    }

    /// The next block that nobody is at; none when there will be no more. The last block is left to the consumer.
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

    /// Gives back what was made of a block.
    pub(super) fn done(&self, number: u64, records: Records) {
        let mut state = self.lock();
        let at = number.checked_sub(state.first).and_then(|at| usize::try_from(at).ok());
        // A block that was stepped over meanwhile is gone.
        if let Some(slot) = at.and_then(|at| state.slots.get_mut(at))
            && let Slot::Taken(block) = slot
        {
            *slot = Slot::Done(Arc::clone(block), records);
        }
        drop(state);
        self.more.notify_one();
    }

    /// Whether the first block, which nobody is at, is better left to those who take blocks apart. They are sure to come.
    fn leave(state: &State) -> bool {
        state.bytes < BEHIND && state.fields.is_some() && state.end.is_none()
    }

    /// The next block. With `skip`, one of at most so many rows is given as it is, whoever is at it.
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
