//! Reading: the loop of an I/O thread, and how I/O threads and workers fetch the records of a piece.

use super::{
    activity::Doing,
    chaos::disturb,
    coming::announce,
    finding::{Lookup, find_kept},
    pieces::share,
    planning::plan_next,
    sleep::{Board, Look, ThreadKind},
    state::{Fetched, Piece, Ready},
    threads::Shared,
};
use crate::{batch::Filling, store};
use infeed_core::{At, Error, Record, Result};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

/// The loop of an I/O thread.
pub(super) fn read_pieces(shared: &Shared) {
    // With bulk sources the workers read: `fill` reads and writes in one call.
    let reads = shared.plan.bulk.is_none();
    let mut hand = shared.sleep.hand(ThreadKind::Reader);
    while let Some((piece, coming)) = hand.next(|mut state| {
        if reads && state.wants_readers() {
            // Planning comes first, because what is not planned cannot be announced.
            if state.wants_plan() {
                return Look::Again(plan_next(shared, state));
            }
            if let Some(found) = state.take_unread() {
                return Look::Found(state, found);
            }
        }
        Look::Nothing(state)
    }) {
        announce(shared, &coming);
        let number = piece.flight;
        disturb(shared, &piece);
        let ready = read(shared, piece);
        let mut state = shared.sleep.lock();
        if let Some(flight) = state.flight(number) {
            flight.ready.extend(ready.split(share(flight.rows.len(), shared.settled.threads)));
        }
        state.piece_read();
    }
}

/// Reads a piece and counts it in the trace.
pub(super) fn read(shared: &Shared, piece: Piece) -> Ready {
    let start = Instant::now();
    shared.activity.begin(Doing::Reading(piece.rows.first().copied().unwrap_or(0)), start);
    let (records, bytes) = fetch_or_find(shared, &piece);
    shared.activity.next(Doing::Nothing);
    let spent = start.elapsed();
    let trace = &shared.trace;
    trace.read_ns.fetch_add(spent.as_nanos() as u64, Relaxed);
    trace.read_bytes.fetch_add(bytes, Relaxed);
    trace.pace.count(bytes, piece.rows.len(), spent);
    Ready { piece, records }
}

/// Reads a piece, except for samples that were kept. Returns how many bytes that were, too.
fn fetch_or_find(shared: &Shared, piece: &Piece) -> (Vec<Result<Fetched>>, u64) {
    let stored = |record: Result<Record>| record.map(|record| Fetched::Stored(record, None));
    let Some(kept) = find_kept(shared, &piece.rows) else {
        return (fetch(shared, &piece.rows, piece.bytes).into_iter().map(stored).collect(), piece.bytes);
    };
    let missing = piece.rows.iter().zip(&kept).filter(|(_, found)| matches!(found, Lookup::Missing(_)));
    let rows: Vec<u64> = missing.map(|(row, _)| *row).collect();
    let bytes =
        |row: &u64| guarded(|| Ok(shared.plan.source.row_bytes(*row, &shared.plan.fields))).unwrap_or(0);
    let mut read: u64 = rows.iter().map(bytes).sum();
    let mut records = if rows.is_empty() { vec![] } else { fetch(shared, &rows, read) }.into_iter();
    let mut fetched = Vec::with_capacity(kept.len());
    for found in kept {
        match found {
            Lookup::Found(bytes) => {
                read += bytes.len() as u64;
                fetched.push(Ok(Fetched::Kept(bytes)));
            }
            Lookup::Missing(stamp) => {
                let lost = || Err(Error::Internal { what: "a row was read and is lost".to_owned() });
                let record = records.next().unwrap_or_else(lost);
                fetched.push(record.map(|record| Fetched::Stored(record, stamp)));
            }
        }
    }
    (fetched, read)
}

/// Reads rows of so many bytes. If that fails, reads them one by one, so that only the bad rows are lost.
fn fetch(shared: &Shared, rows: &[u64], bytes: u64) -> Vec<Result<Record>> {
    let plan = &shared.plan;
    if bytes > shared.budget.limit() {
        // Rows above the limit are never read, and what is left of the piece is read one by one.
        return rows.iter().map(|row| fetch_one(shared, *row)).collect();
    }
    match guarded(|| plan.source.fetch(rows, &plan.fields)) {
        Ok(records) if records.len() == rows.len() => records.into_iter().map(Ok).collect(),
        Ok(records) => {
            let what = format!("the source gave {} records for {} rows", records.len(), rows.len());
            rows.iter().map(|_| Err(Error::Internal { what: what.clone() })).collect()
        }
        Err(_) => rows.iter().map(|row| fetch_one(shared, *row)).collect(),
    }
}

/// Reads one row; errors carry its location.
pub(super) fn fetch_one(shared: &Shared, row: u64) -> Result<Record> {
    let plan = &shared.plan;
    guarded(|| {
        shared.budget.check(plan.source.row_bytes(row, &plan.fields))?;
        plan.source.fetch(&[row], &plan.fields)
    })
    .and_then(|mut records| {
        records.pop().ok_or_else(|| Error::Internal { what: "the source gave no record".to_owned() })
    })
    .map_err(|e| e.at(place_of(shared, row, None)))
}

/// Returns the location of a row; rows of a stream bring shard and key with them.
pub(super) fn place_of(shared: &Shared, row: u64, name: Option<&(Arc<str>, String)>) -> At {
    if let Some((shard, key)) = name {
        return At { shard: shard.to_string(), row: Some(row), key: Some(key.clone()), field: None };
    }
    let source = &shared.plan.source;
    // Naming a row must not fail where the row itself did.
    let named = guarded(|| Ok((source.shard_of(row), source.key(row))));
    let (shard, key) = named.unwrap_or_default();
    At { shard, row: Some(row), key: Some(key), field: None }
}

/// Returns an error if the files of a piece were cut short while they are mapped: what is missing reads as zeros.
pub(super) fn lost_mapping(shared: &Shared, piece: &Piece) -> Option<Error> {
    if !store::any_lost() {
        return None;
    }
    let lost = store::lost();
    // Files of tokens are named without their ending.
    let is =
        |name: &str, shard: &str| name == shard || Path::new(name).with_extension("") == Path::new(shard);
    let cut = |shard: &str| lost.iter().find(|name| is(name, shard));
    piece.rows.iter().find_map(|row| {
        let at = place_of(shared, *row, None);
        let name = cut(&at.shard).filter(|_| !at.shard.is_empty())?;
        let what = "it was cut short while it was mapped".to_owned();
        Some(Error::Changed { path: name.to_string(), what }.at(at))
    })
}

/// Turns a panic into an error: a bug in a format must not abort the training run.
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

/// Lets the source write a piece. Returns `false` on failure: the caller then goes row by row to find the bad ones.
pub(super) fn fill(shared: &Shared, piece: &Piece, filling: &Filling) -> bool {
    let (plan, start) = (&shared.plan, Instant::now());
    let (Some(bulk), Some(first)) = (&plan.bulk, piece.places.first()) else { return false };
    shared.activity.begin(Doing::Reading(piece.rows.first().copied().unwrap_or(0)), start);
    // SAFETY: each place of a flight is in exactly one piece, a piece is worked on by one thread, and the spans are gone
    // before anything else is written to these places.
    let mut out = unsafe { filling.span(*first, piece.rows.len()) };
    let done = guarded(|| plan.source.fill(&piece.rows, &bulk.fields, &mut out)).is_ok()
        && lost_mapping(shared, piece).is_none();
    shared.activity.next(Doing::Nothing);
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
