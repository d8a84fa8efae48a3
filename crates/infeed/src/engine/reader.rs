//! I/O threads: they plan batches, cut them into pieces and read the pieces.

use super::{
    course::Step,
    feed::Feed,
    state::{Flight, Piece, Ready, State},
    threads::Shared,
};
use crate::batch::{Batch, Fate, Filling};
use infeed_core::{At, Error, Record, Result};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, MutexGuard, atomic::Ordering::Relaxed},
    time::Instant,
};

/// Most bytes per piece: enough that locks and wake-ups do not matter, little enough to stay in a core's cache. Batches
/// that are small for the number of threads are cut finer, so that the threads share them evenly.
const PIECE_BYTES: u64 = 512 << 10;

/// The life of an I/O thread.
pub(super) fn read_pieces(shared: &Shared) {
    let mut at_work = false;
    loop {
        let piece = {
            let mut state = shared.lock();
            if std::mem::take(&mut at_work) {
                shared.end(&mut state);
            }
            loop {
                if state.stop {
                    return;
                }
                if state.paused {
                    state = shared.wait(&shared.more_to_read, state);
                    continue;
                }
                // What a source writes by itself is not read apart from that.
                if shared.trace.pace.is_slow() && shared.plan.bulk.is_none() {
                    if let Some(piece) = state.take_unread() {
                        shared.begin(&mut state);
                        at_work = true;
                        break piece;
                    }
                    if state.wants_plan() {
                        state = plan_next(shared, state);
                        continue;
                    }
                }
                state.idle_readers += 1;
                state = shared.wait(&shared.more_to_read, state);
                state.idle_readers -= 1;
            }
        };
        let number = piece.flight;
        let ready = read(shared, piece);
        let mut state = shared.lock();
        if let Some(flight) = state.flight(number) {
            flight.ready.push_back(ready);
        }
        shared.wake_worker(&mut state);
    }
}

/// Adds the next batch to the state. Costs microseconds, unless the store wants to be told early.
pub(super) fn plan_next<'a>(shared: &'a Shared, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    shared.begin(&mut state);
    let mut state = plan_one(shared, state);
    shared.end(&mut state);
    state
}

fn plan_one<'a>(shared: &'a Shared, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    let number = state.next;
    state.next += 1;
    let flight = match &shared.feed {
        Feed::Rows(course) => plan_flight(shared, course.step(number), number),
        Feed::Given(..) => match shared.feed.given() {
            Some(step) => plan_flight(shared, step, number),
            None => {
                let error = Error::Internal { what: "no rows were given for a batch".to_owned() };
                Flight { number, ..Flight::failed(error) }
            }
        },
        Feed::Stream(_) => {
            // Pulling waits for the stream: not with the lock held, and one thread at a time.
            state.planning = true;
            drop(state);
            let pulled = guarded(|| Ok(shared.feed.pull(number)));
            state = shared.lock();
            state.planning = false;
            let mut flight = pulled.ok().flatten().unwrap_or_else(|| {
                let error = Error::Internal { what: "a stream panicked".to_owned() };
                Flight { number, ..Flight::failed(error) }
            });
            if flight.is_end {
                flight.done = Some(Ok(Batch::empty()));
            } else if flight.done.is_some() {
                // After an error a stream cannot go on.
                state.limit = state.next;
            }
            let read: u64 = flight.ready.iter().flat_map(|r| &r.records).flatten().map(Record::bytes).sum();
            shared.trace.read_bytes.fetch_add(read, Relaxed);
            state.flights.push_back(flight);
            shared.tell(&state);
            shared.wake_worker(&mut state);
            return state;
        }
    };
    let coming = shared.trace.pace.is_slow().then(|| flight.rows_to_read());
    state.flights.push_back(flight);
    shared.wake_reader(&state);
    if let Some(rows) = coming {
        drop(state);
        shared.plan.source.will_fetch(&rows, &shared.plan.fields);
        state = shared.lock();
    }
    state
}

/// Reads a piece and counts it.
pub(super) fn read(shared: &Shared, piece: Piece) -> Ready {
    let start = Instant::now();
    let records = fetch(shared, &piece);
    let spent = start.elapsed();
    let trace = &shared.trace;
    trace.read_ns.fetch_add(spent.as_nanos() as u64, Relaxed);
    trace.read_bytes.fetch_add(piece.bytes, Relaxed);
    trace.pace.count(piece.bytes, piece.rows.len(), spent);
    Ready { piece, records }
}

/// Reads a piece. When it fails as a whole, row by row, so that only the bad rows are lost.
fn fetch(shared: &Shared, piece: &Piece) -> Vec<Result<Record>> {
    let plan = &shared.plan;
    match guarded(|| plan.source.fetch(&piece.rows, &plan.fields)) {
        Ok(records) if records.len() == piece.rows.len() => records.into_iter().map(Ok).collect(),
        Ok(records) => {
            let what = format!("the source gave {} records for {} rows", records.len(), piece.rows.len());
            piece.rows.iter().map(|_| Err(Error::Internal { what: what.clone() })).collect()
        }
        Err(_) => piece.rows.iter().map(|row| fetch_one(shared, *row)).collect(),
    }
}

/// Reads one row; the error knows its place.
pub(super) fn fetch_one(shared: &Shared, row: u64) -> Result<Record> {
    let plan = &shared.plan;
    guarded(|| plan.source.fetch(&[row], &plan.fields))
        .and_then(|mut records| {
            records.pop().ok_or_else(|| Error::Internal { what: "the source gave no record".to_owned() })
        })
        .map_err(|e| e.at(place_of(shared, row, None)))
}

/// Where a row lies; rows of a stream bring their name.
pub(super) fn place_of(shared: &Shared, row: u64, name: Option<&(Arc<str>, String)>) -> At {
    if let Some((shard, key)) = name {
        return At { shard: shard.to_string(), row: Some(row), key: Some(key.clone()), field: None };
    }
    let source = &shared.plan.source;
    At { shard: source.shard_of(row), row: Some(row), key: Some(source.key(row)), field: None }
}

/// Turns a panic into an error: a defect in a format must not take the training run down with it.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(Error::sample(format!("panic: {what}")))
    })
}

/// A batch with its rows cut into pieces. Sorted by row, so that neighbours are read together.
fn plan_flight(shared: &Shared, step: Step, number: u64) -> Flight {
    let plan = &shared.plan;
    let Step { epoch, global, rows, pads, after, ends_epoch } = step;
    let unread = match &plan.bulk {
        Some(bulk) => spans(&rows, bulk.bytes, number, epoch),
        None => pieces(shared, &rows, number, epoch),
    };
    Flight {
        number,
        epoch,
        global,
        pads,
        after,
        ends_epoch,
        unread,
        left: rows.len(),
        fates: vec![Fate::Bad; rows.len()],
        rows,
        ..Flight::empty()
    }
}

/// Rows cut into pieces for reading: ascending, so that neighbours are read together.
fn pieces(shared: &Shared, rows: &[u64], flight: u64, epoch: u64) -> VecDeque<Piece> {
    let plan = &shared.plan;
    let mut sorted: Vec<usize> = (0..rows.len()).collect();
    sorted.sort_unstable_by_key(|i| (rows[*i], *i));
    let most = (rows.len() / (2 * shared.settled.threads)).clamp(1, 64);
    let mut unread: VecDeque<Piece> = VecDeque::new();
    for at in sorted {
        let bytes = plan.source.weight(rows[at], &plan.fields);
        match unread.back_mut() {
            Some(piece) if piece.bytes + bytes <= PIECE_BYTES && piece.rows.len() < most => {
                piece.places.push(at);
                piece.rows.push(rows[at]);
                piece.bytes += bytes;
            }
            _ => unread.push_back(Piece { flight, epoch, places: vec![at], rows: vec![rows[at]], bytes }),
        }
    }
    unread
}

/// Rows cut into pieces that the source writes: as they stand in the batch.
fn spans(rows: &[u64], bytes: usize, flight: u64, epoch: u64) -> VecDeque<Piece> {
    let most = (PIECE_BYTES as usize / bytes).max(1);
    let span = |(number, rows): (usize, &[u64])| {
        let first = number * most;
        let places = (first..first + rows.len()).collect();
        Piece { flight, epoch, places, rows: rows.to_vec(), bytes: (rows.len() * bytes) as u64 }
    };
    rows.chunks(most).enumerate().map(span).collect()
}

/// Lets the source write a piece. `false` when it could not: then row by row, to learn which rows are bad.
pub(super) fn fill(shared: &Shared, piece: &Piece, filling: &Filling) -> bool {
    let (plan, start) = (&shared.plan, Instant::now());
    let (Some(bulk), Some(first)) = (&plan.bulk, piece.places.first()) else { return false };
    // SAFETY: each place of a flight is in exactly one piece, a piece is worked on by one thread, and the spans are gone
    // before anything else is written to these places.
    let mut out = unsafe { filling.span(*first, piece.rows.len()) };
    let done = guarded(|| plan.source.fill(&piece.rows, &bulk.fields, &mut out)).is_ok();
    let spent = start.elapsed();
    let trace = &shared.trace;
    trace.read_ns.fetch_add(spent.as_nanos() as u64, Relaxed);
    trace.own_read_ns.fetch_add(spent.as_nanos() as u64, Relaxed);
    if done {
        trace.read_bytes.fetch_add(piece.bytes, Relaxed);
        trace.pace.count(piece.bytes, piece.rows.len(), spent);
    }
    done
}
