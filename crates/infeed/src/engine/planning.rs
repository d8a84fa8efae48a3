//! Planning: which rows belong to the next batch, and how they are cut into pieces. I/O threads plan ahead; a worker
//! without work plans for itself.

use super::{
    activity::Doing,
    chaos::disturb_pull,
    coming::announce,
    course::Step,
    feed::Feed,
    pieces::{pieces, spans},
    reader::guarded,
    sleep::Held,
    state::{Fetched, Flight, State},
    threads::Shared,
};
use crate::batch::Batch;
use infeed_core::Error;
use std::{sync::atomic::Ordering::Relaxed, time::Instant};

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
            let read: u64 = flight.ready.iter().flat_map(|r| &r.records).flatten().map(Fetched::bytes).sum();
            shared.trace.read_bytes.fetch_add(read, Relaxed);
            state.flights.push_back(flight);
            state.batch_pulled();
            return state;
        }
    };
    let far = shared.scout.is_active();
    // Bulk sources read in units that are larger than a piece.
    let hints = !far && shared.plan.bulk.is_some() && shared.trace.pace.is_slow();
    let coming = if hints { flight.rows_to_read() } else { vec![] };
    state.flights.push_back(flight);
    state.batch_planned();
    if far {
        let (limit, done) = (state.limit, state.flights.front().map_or(number, |flight| flight.number));
        return state.let_go(|| shared.scout.look_ahead(shared, number, limit, done)).0;
    }
    if coming.is_empty() { state } else { state.let_go(|| announce(shared, &coming)).0 }
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
        rows,
        ..Flight::empty()
    }
}
