//! The state that the threads of a run share. All of it is under one lock; every operation takes microseconds.

use super::{options::Settled, sleep::Board};
use crate::{
    batch::{Batch, Fates, Filling, Names},
    trace::Trace,
};
use infeed_core::{Bytes, Cursor, Error, Record, Result};
use std::{collections::VecDeque, ops::Range, sync::Arc, time::Instant};

/// Some samples of one batch that are read together.
#[derive(Debug)]
pub(super) struct Piece {
    /// The batch they belong to.
    pub(super) flight: u64,
    pub(super) epoch: u64,
    /// Their places in the batch.
    pub(super) places: Vec<usize>,
    /// Their rows: ascending, or in batch order for bulk sources.
    pub(super) rows: Vec<u64>,
    /// Bytes to read for them.
    pub(super) bytes: u64,
    /// Whether the store was told that they are read soon.
    pub(super) announced: bool,
}

/// A piece with its records.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) piece: Piece,
    pub(super) records: Vec<Result<Fetched>>,
}

/// What a sample is made of.
#[derive(Debug)]
pub(super) enum Fetched {
    /// The row as it is stored. The number under which the sample is to be kept, if so.
    Stored(Record, Option<u128>),
    /// What was kept of the sample.
    Kept(Bytes),
}

impl Fetched {
    /// Its bytes, still encoded or as they were kept.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Fetched::Stored(record, _) => record.bytes(),
            Fetched::Kept(bytes) => bytes.len() as u64,
        }
    }
}

/// One batch between planning and delivery.
#[derive(Debug)]
pub(super) struct Flight {
    /// Its number, counted from where the engine started.
    pub(super) number: u64,
    pub(super) epoch: u64,
    /// The places of all ranks together.
    pub(super) global: Range<u64>,
    /// How many of its rows, at the end, are repeated rows that pad the batch.
    pub(super) pads: usize,
    /// The consumer's cursor once it has received the batch.
    pub(super) after: Cursor,
    /// Whether this is the last batch of its epoch.
    pub(super) ends_epoch: bool,
    /// Whether it only marks the end of the epoch: a stream ended with no rows left for a batch.
    pub(super) is_end: bool,
    /// Shard and key of each row, when they cannot be looked up later.
    pub(super) names: Option<Names>,
    /// Its rows, in order.
    pub(super) rows: Vec<u64>,
    /// Pieces that are not read yet.
    pub(super) unread: VecDeque<Piece>,
    /// Pieces that are read and wait for a worker.
    pub(super) ready: VecDeque<Ready>,
    /// Its memory, from the first sample to the last.
    pub(super) filling: Option<Arc<Filling>>,
    /// Samples that are not finished yet.
    pub(super) left: usize,
    /// What became of those that were not simply made.
    pub(super) fates: Fates,
    /// Bad samples, reported when the consumer gets this batch, not when they are found.
    pub(super) bad: Vec<(u64, Error)>,
    /// The error of the earliest sample that stops the run.
    pub(super) error: Option<(usize, Error)>,
    /// The batch, when it is done.
    pub(super) done: Option<Result<Batch>>,
}

/// A unit of work for a worker.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) task: Task,
    /// The memory of the batch.
    pub(super) filling: Arc<Filling>,
    pub(super) names: Option<Names>,
    /// When the epoch began.
    pub(super) began: Instant,
}

/// The piece of a job.
#[derive(Debug)]
pub(super) enum Task {
    /// The piece was read: make its samples.
    Make(Ready),
    /// Announce rows that are read soon, read the piece, then make its samples.
    ReadAndMake(Piece, Vec<u64>),
}

/// The batches in flight, oldest first.
#[derive(Debug)]
pub(super) struct State {
    pub(super) flights: VecDeque<Flight>,
    /// Bytes being read, or read and not yet processed.
    pub(super) ahead: u64,
    /// The next batch to plan.
    pub(super) next: u64,
    /// The maximum number of batches to make.
    pub(super) limit: u64,
    /// When the epoch began: time between epochs does not count as idle.
    pub(super) began: Instant,
    /// Whether a thread is pulling the next batch of a stream.
    pub(super) planning: bool,
    settled: Settled,
    trace: Arc<Trace>,
    /// Whether pieces are announced by those who read them. Remote data is announced earlier, that of bulk sources by the
    /// batch, and that of network file systems never.
    by_piece: bool,
}

impl Board for State {
    fn has_work(&self) -> bool {
        let mut window = self.flights.iter().take(self.settled.prefetch);
        window.any(|f| !f.ready.is_empty() || !f.unread.is_empty()) || self.wants_plan_now()
    }

    fn wants_readers(&self) -> bool {
        self.trace.pace.is_slow()
    }

    fn is_ready(&self) -> bool {
        self.flights.front().is_some_and(|f| f.done.is_some())
    }

    fn well_ahead(&self) -> bool {
        2 * self.flights.iter().filter(|f| f.done.is_some()).count() > self.settled.prefetch
    }
}

impl State {
    pub(super) fn new(settled: Settled, limit: u64, trace: Arc<Trace>, by_piece: bool) -> Self {
        State {
            flights: VecDeque::new(),
            ahead: 0,
            next: 0,
            limit,
            began: Instant::now(),
            planning: false,
            settled,
            trace,
            by_piece,
        }
    }

    /// Whether pieces are announced before they are read.
    pub(super) fn announces(&self) -> bool {
        self.by_piece && self.wants_readers()
    }

    /// Takes the next piece to read, if the budget allows, and the rows to announce before. The oldest batch may always be
    /// read, or the engine could stall.
    pub(super) fn take_unread(&mut self) -> Option<(Piece, Vec<u64>)> {
        let at = self.flights.iter().position(|f| !f.unread.is_empty())?;
        let bytes = self.flights[at].unread.front()?.bytes;
        if at > 0 && self.ahead > 0 && self.ahead + bytes > self.settled.ahead_bytes {
            return None;
        }
        let coming = self.take_coming();
        self.ahead += bytes;
        Some((self.flights[at].unread.pop_front()?, coming))
    }

    /// Whether another batch should be planned.
    pub(super) fn wants_plan(&self) -> bool {
        self.next < self.limit
            && !self.planning
            && !self.has_enough_unread()
            && (self.flights.len() < self.settled.prefetch
                || (self.ahead < self.settled.ahead_bytes && self.flights.len() < 64 + self.settled.prefetch))
    }

    /// Whether another batch should be planned to give a worker something to do at once.
    pub(super) fn wants_plan_now(&self) -> bool {
        self.flights.len() < self.settled.prefetch && self.wants_plan()
    }

    /// Takes work for a CPU worker: from the oldest batch that has some, among those that may have memory.
    pub(super) fn take_ready(&mut self, open: impl Fn(&Flight) -> Filling) -> Option<Job> {
        let flight = self.flights.iter_mut().take(self.settled.prefetch).find(|f| !f.ready.is_empty())?;
        let filling = flight.open(open);
        let names = flight.names.clone();
        Some(Job { task: Task::Make(flight.ready.pop_front()?), filling, names, began: self.began })
    }

    /// Takes a piece for a worker to read itself, among the batches that may have memory. The look-ahead budget does
    /// not apply, because the piece is processed as soon as it is read.
    pub(super) fn take_unread_now(&mut self, open: impl Fn(&Flight) -> Filling) -> Option<Job> {
        let at = self.flights.iter().take(self.settled.prefetch).position(|f| !f.unread.is_empty())?;
        let coming = self.take_coming();
        let flight = &mut self.flights[at];
        let filling = flight.open(open);
        let piece = flight.unread.pop_front()?;
        self.ahead += piece.bytes;
        Some(Job { task: Task::ReadAndMake(piece, coming), filling, names: None, began: self.began })
    }

    /// Returns the flight with this number.
    pub(super) fn flight(&mut self, number: u64) -> Option<&mut Flight> {
        let first = self.flights.front()?.number;
        self.flights.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }
}

impl Flight {
    /// Returns its memory, allocated when the first sample needs it.
    fn open(&mut self, open: impl Fn(&Flight) -> Filling) -> Arc<Filling> {
        match &self.filling {
            Some(filling) => Arc::clone(filling),
            None => {
                let filling = Arc::new(open(self));
                self.filling = Some(Arc::clone(&filling));
                filling
            }
        }
    }

    /// Returns the rows that are not read yet, piece by piece.
    pub(super) fn rows_to_read(&self) -> Vec<u64> {
        self.unread.iter().flat_map(|piece| piece.rows.iter().copied()).collect()
    }

    /// Creates a flight that only brings an error to the consumer.
    pub(super) fn failed(error: Error) -> Self {
        Flight { done: Some(Err(error)), ..Flight::empty() }
    }

    /// Creates a flight without rows.
    pub(super) fn empty() -> Self {
        Flight {
            number: 0,
            epoch: 0,
            global: 0..0,
            pads: 0,
            after: Cursor::default(),
            ends_epoch: false,
            is_end: false,
            names: None,
            rows: vec![],
            unread: VecDeque::new(),
            ready: VecDeque::new(),
            filling: None,
            left: 0,
            fates: Fates::new(),
            bad: vec![],
            error: None,
            done: None,
        }
    }
}
