//! Planning: which rows belong to the next batch, and how they are cut into pieces. I/O threads plan ahead; a worker
//! without work plans for itself.

use super::{
    activity::Doing,
    chaos::disturb_pull,
    course::Step,
    feed::Feed,
    reader::guarded,
    sleep::Held,
    state::{Flight, Piece, State},
    threads::Shared,
};
use crate::batch::{Batch, Fate};
use infeed_core::{Error, Record};
use std::{collections::VecDeque, sync::atomic::Ordering::Relaxed, time::Instant};

/// Maximum bytes per piece: enough to make locks and wake-ups negligible, small enough to stay in a core's cache.
/// Batches that are small for the number of threads are cut finer, so that the threads share them evenly.
const PIECE_BYTES: u64 = 512 << 10;

/// Adds the next batch to the state. Takes microseconds, unless the store prefetches.
pub(super) fn plan_next<'a>(shared: &'a Shared, state: Held<'a, State>) -> Held<'a, State> {
    state.busy_with(|state| plan_one(shared, state))
}

fn plan_one<'a>(shared: &'a Shared, mut state: Held<'a, State>) -> Held<'a, State> {
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
            // Pulling blocks on the stream: the lock is released, and only one thread pulls at a time.
            state.planning = true;
            shared.activity.begin(Doing::Pulling, Instant::now());
            let (mut state, pulled) = state.let_go(|| {
                disturb_pull(shared, number);
                guarded(|| Ok(shared.feed.pull(number)))
            });
            shared.activity.next(Doing::Nothing);
            state.planning = false;
            let mut flight = pulled.ok().flatten().unwrap_or_else(|| {
                let error = Error::Internal { what: "a stream panicked".to_owned() };
                Flight { number, ..Flight::failed(error) }
            });
            if flight.is_end {
                flight.done = Some(Ok(Batch::empty()));
            } else if flight.done.is_some() {
                // A stream cannot continue after an error.
                state.limit = state.next;
            }
            let read: u64 = flight.ready.iter().flat_map(|r| &r.records).flatten().map(Record::bytes).sum();
            shared.trace.read_bytes.fetch_add(read, Relaxed);
            state.flights.push_back(flight);
            state.batch_pulled();
            return state;
        }
    };
    let far = shared.scout.is_active();
    let coming = (!far && shared.trace.pace.is_slow()).then(|| flight.rows_to_read());
    state.flights.push_back(flight);
    state.batch_planned();
    if far {
        let limit = state.limit;
        return state.let_go(|| shared.scout.look_ahead(shared, number, limit)).0;
    }
    match coming {
        None => state,
        // A hint: what goes wrong here goes wrong again, and is reported, when the rows are read.
        Some(rows) => {
            let hint = || {
                shared.plan.source.will_fetch(&rows, &shared.plan.fields);
                Ok(())
            };
            state.let_go(|| guarded(hint)).0
        }
    }
}

/// Plans a batch: its rows, cut into pieces.
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

/// Cuts rows into pieces for reading, in ascending order so that neighbours are read together.
fn pieces(shared: &Shared, rows: &[u64], flight: u64, epoch: u64) -> VecDeque<Piece> {
    let plan = &shared.plan;
    let mut sorted: Vec<usize> = (0..rows.len()).collect();
    sorted.sort_unstable_by_key(|i| (rows[*i], *i));
    let most = (rows.len() / (2 * shared.settled.threads)).clamp(1, 64);
    let mut unread: VecDeque<Piece> = VecDeque::new();
    for at in sorted {
        // A source that fails here fails again, with a name, when the row is read.
        let bytes = guarded(|| Ok(plan.source.row_bytes(rows[at], &plan.fields))).unwrap_or(0);
        match unread.back_mut() {
            Some(piece) if piece.bytes.saturating_add(bytes) <= PIECE_BYTES && piece.rows.len() < most => {
                piece.places.push(at);
                piece.rows.push(rows[at]);
                piece.bytes += bytes;
            }
            _ => unread.push_back(Piece { flight, epoch, places: vec![at], rows: vec![rows[at]], bytes }),
        }
    }
    unread
}

/// Cuts rows into pieces for sources that write batches themselves, in batch order.
fn spans(rows: &[u64], bytes: usize, flight: u64, epoch: u64) -> VecDeque<Piece> {
    let most = (PIECE_BYTES as usize / bytes).max(1);
    let span = |(number, rows): (usize, &[u64])| {
        let first = number * most;
        let places = (first..first + rows.len()).collect();
        Piece { flight, epoch, places, rows: rows.to_vec(), bytes: (rows.len() * bytes) as u64 }
    };
    rows.chunks(most).enumerate().map(span).collect()
}
