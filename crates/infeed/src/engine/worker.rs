//! CPU workers: they make the samples of a piece directly in the batch.

use super::{
    OnError,
    activity::Doing,
    chaos::disturb,
    coming::announce,
    planning::plan_next,
    reader::{fetch_one, fill, guarded, lost_mapping, place_of, read},
    sample::{Input, make},
    sleep::{Look, ThreadKind},
    state::{Fetched, Flight, Job, Piece, Ready, Task},
    threads::Shared,
};
use crate::batch::{Batch, Fate, Fates, Filling, Names};
use infeed_core::{Context, Error, Hold, Result, Rng, Scratch};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

/// How many other rows are tried to replace a bad one.
const TRIES: u64 = 16;
/// The address of the random numbers that choose replacements.
const REPLACE: u64 = 0x0072_6570_6c61_6365;

/// The loop of a CPU worker.
pub(super) fn make_samples(shared: &Shared) {
    let kept = || shared.scratches.hold();
    let mut scratch = kept().pop().unwrap_or_else(|| Scratch::with_budget(Arc::clone(&shared.budget)));
    make_until_stopped(shared, &mut scratch);
    kept().push(scratch);
}

fn make_until_stopped(shared: &Shared, scratch: &mut Scratch) {
    let mut hand = shared.sleep.hand(ThreadKind::Worker);
    let open = |f: &Flight| Filling::new(&shared.layouts, f.rows.len(), &shared.pool);
    loop {
        let idle = Instant::now();
        let found = hand.next(|mut state| {
            // Read rather than wait for an I/O thread: data from the page cache then ends up in this core's cache,
            // and a worker that would have to wait anyway loses nothing.
            let job = state.take_ready(open).or_else(|| state.take_unread_now(open));
            match job {
                Some(job) => Look::Found(state, job),
                None if state.wants_plan_now() => Look::Again(plan_next(shared, state)),
                None => Look::Nothing(state),
            }
        });
        let Some(Job { task, filling, names, began }) = found else { return };
        shared.trace.idle_ns.fetch_add(idle.max(began).elapsed().as_nanos() as u64, Relaxed);
        let ready = match task {
            Task::Make(ready) => ready,
            Task::ReadAndMake(piece, coming) => {
                announce(shared, &coming);
                disturb(shared, &piece);
                if shared.plan.bulk.is_some() && filling.error().is_none() && fill(shared, &piece, &filling) {
                    drop(filling);
                    close(shared, &piece, names, PieceMade::default(), scratch);
                    continue;
                }
                let start = Instant::now();
                let ready = read(shared, piece);
                shared.trace.own_read_ns.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
                ready
            }
        };
        let busy = Instant::now();
        shared.activity.begin(Doing::Making(ready.piece.rows.first().copied().unwrap_or(0)), busy);
        let (piece, made) = make_piece(shared, ready, &filling, names.as_ref(), scratch);
        drop(filling);
        close(shared, &piece, names, made, scratch);
        shared.activity.next(Doing::Nothing);
        let decoding = scratch.take_decoding().as_nanos() as u64;
        let all = busy.elapsed().as_nanos() as u64;
        shared.trace.decode_ns.fetch_add(decoding, Relaxed);
        shared.trace.pixel_ns.fetch_add(all.saturating_sub(decoding), Relaxed);
    }
}

/// The outcome of a piece.
#[derive(Default)]
struct PieceMade {
    /// Of samples that were not simply made.
    fates: Fates,
    bad: Vec<(u64, Error)>,
    /// The error that stops the run, and its place.
    error: Option<(usize, Error)>,
}

/// Makes the samples of one piece.
fn make_piece(
    shared: &Shared,
    ready: Ready,
    filling: &Filling,
    names: Option<&Names>,
    scratch: &mut Scratch,
) -> (Piece, PieceMade) {
    let Ready { piece, records } = ready;
    let (mut made, read) = (PieceMade::default(), records.len());
    if let Some(error) = filling.error() {
        made.fates = piece.places.iter().map(|place| (*place, Fate::Bad)).collect();
        made.error = piece.places.first().map(|place| (*place, error.clone()));
        return (piece, made);
    }
    for ((place, row), record) in piece.places.iter().zip(&piece.rows).zip(records) {
        let name = names.and_then(|n| n.get(*place));
        shared.activity.next(Doing::Making(*row));
        let slot = SampleJob { shared, filling, place: *place, epoch: piece.epoch, row: *row, name };
        match slot.make(record, scratch, &mut made.bad) {
            Ok(fate) => made.fates.extend(fate.map(|fate| (*place, fate))),
            Err(e) => {
                made.fates.insert(*place, Fate::Bad);
                if made.error.as_ref().is_none_or(|(p, _)| p > place) {
                    made.error = Some((*place, e));
                }
            }
        }
    }
    if let Some(place) = piece.places.get(read) {
        made.error =
            Some((*place, Error::Internal { what: "fewer records were read than asked for".to_owned() }));
    }
    if let Some(error) = lost_mapping(shared, &piece) {
        made.error = piece.places.first().map(|place| (*place, error));
    }
    (piece, made)
}

/// Counts a piece as done. The last one closes the batch, so the caller must have dropped its handle to the memory.
fn close(shared: &Shared, piece: &Piece, names: Option<Names>, made: PieceMade, scratch: &mut Scratch) {
    let PieceMade { fates, bad, error } = made;
    let number = piece.flight;
    let mut state = shared.sleep.lock();
    state.ahead -= piece.bytes;
    let Some(flight) = state.flight(number) else { return };
    flight.left -= piece.places.len();
    flight.fates.extend(fates);
    flight.bad.extend(bad);
    if let Some((place, e)) = error
        && flight.error.as_ref().is_none_or(|(p, _)| *p > place)
    {
        flight.error = Some((place, e));
    }
    if flight.left > 0 {
        state.piece_finished();
        return;
    }
    let (filling, error) = (flight.filling.take(), flight.error.take());
    let (fates, rows, pads) =
        (std::mem::take(&mut flight.fates), std::mem::take(&mut flight.rows), flight.pads);
    drop(state);
    let mut late = Vec::new();
    let done = match (error, filling.and_then(Arc::into_inner)) {
        (Some((_, e)), _) => Err(e),
        (None, Some(filling)) => {
            // The random numbers of a batch are addressed by its first row, whether that was made or not.
            let first = rows.first().copied().unwrap_or(0);
            let batch =
                guarded(|| finish(shared, filling, Unfinished { fates, rows, pads, names, bad: &mut late }));
            batch.and_then(|batch| change(shared, batch, piece.epoch, first, scratch))
        }
        (None, None) => Err(Error::Internal { what: "a finished batch is still being written".to_owned() }),
    };
    let mut state = shared.sleep.lock();
    if let Some(flight) = state.flight(number) {
        flight.bad.extend(late);
        flight.done = Some(done);
    }
    state.batch_finished();
}

/// A batch whose samples are made.
struct Unfinished<'a> {
    fates: Fates,
    rows: Vec<u64>,
    pads: usize,
    names: Option<Names>,
    /// Samples that turn out to be bad only now.
    bad: &'a mut Vec<(u64, Error)>,
}

/// Closes a batch. Samples that cannot be padded together with the others are bad samples, too, and follow the policy.
fn finish(shared: &Shared, filling: Filling, of: Unfinished<'_>) -> Result<Batch> {
    let Unfinished { mut fates, rows, pads, names, bad } = of;
    let spec = &shared.plan.spec;
    for (place, error) in filling.misfits(spec, &fates, shared.settled.batch_bytes) {
        let name = names.as_ref().and_then(|names| names.get(place));
        let error = error.at(place_of(shared, rows[place], name));
        bad.push((rows[place], error.clone()));
        if shared.on_error == OnError::Raise {
            return Err(error);
        }
        fates.insert(place, Fate::Bad);
    }
    filling.finish(spec, &fates, rows, pads, names)
}

/// Applies the batch transforms.
fn change(shared: &Shared, mut batch: Batch, epoch: u64, first: u64, scratch: &mut Scratch) -> Result<Batch> {
    for change in &shared.plan.changes {
        let rng = Rng::at(shared.plan.seed, epoch, first, change.stage);
        let mut context = Context { rng, scratch: &mut *scratch };
        let done = guarded(|| change.apply(&mut batch, &shared.pool, &mut context));
        done.map_err(|e| Error::plan(format!("map_batch {}", change.name), e.to_string()))?;
    }
    Ok(batch)
}

/// A sample to make, and its place in the batch.
#[derive(Clone, Copy)]
struct SampleJob<'a> {
    shared: &'a Shared,
    filling: &'a Filling,
    place: usize,
    epoch: u64,
    row: u64,
    /// Shard and key, for rows of a stream.
    name: Option<&'a (Arc<str>, String)>,
}

impl SampleJob<'_> {
    /// Makes the sample according to the policy. Returns what became of it, if it was not simply made. An error stops the run.
    fn make(
        &self,
        record: Result<Fetched>,
        scratch: &mut Scratch,
        bad: &mut Vec<(u64, Error)>,
    ) -> Result<Option<Fate>> {
        let SampleJob { shared, epoch, row, .. } = *self;
        let error = match self.attempt(record, scratch) {
            Ok(kept) => return Ok((!kept).then_some(Fate::Filtered)),
            Err(error) => error,
        };
        // A row that cannot be read now is not a bad row: leaving it out would lose it without a reason in the data.
        if error.is_storage() && !shared.skip_unreadable {
            return Err(error);
        }
        bad.push((row, error.clone()));
        if shared.on_error == OnError::Raise {
            return Err(error);
        }
        if shared.on_error == OnError::Skip {
            return Ok(Some(Fate::Bad));
        }
        // Only rows of this order: rows of another split must not get in.
        let order = &shared.plan.order;
        let mut rng = Rng::at(shared.plan.seed, epoch, row, REPLACE);
        for _ in 0..TRIES {
            let mut other = [rng.below(order.places())];
            order.resolve(epoch, &mut other);
            let [other] = other;
            let instead = SampleJob { row: other, name: None, ..*self };
            let found = fetch_one(shared, other).map(|record| Fetched::Stored(record, None));
            match instead.attempt(found, scratch) {
                Ok(true) => return Ok(Some(Fate::Replaced(other))),
                Ok(false) => {}
                Err(e) if e.is_storage() && !shared.skip_unreadable => return Err(e),
                Err(e) => bad.push((other, e)),
            }
        }
        Err(Error::sample(format!(
            "no replacement found: all {TRIES} rows tried were bad or filtered out; the first error: {error}"
        ))
        .at(place_of(shared, row, self.name)))
    }

    /// Tries to make the sample. Returns `false` if a filter drops it.
    fn attempt(&self, fetched: Result<Fetched>, scratch: &mut Scratch) -> Result<bool> {
        let SampleJob { shared, row, .. } = *self;
        let record = match fetched? {
            Fetched::Stored(record, None) => record,
            Fetched::Stored(record, Some(stamp)) => {
                let done = self.once(Input::ToKeep(&mut record.clone(), stamp), scratch);
                if done.is_ok() {
                    return done;
                }
                record
            }
            Fetched::Kept(bytes) => {
                let done = self.once(Input::Kept(bytes), scratch);
                if done.is_ok() {
                    return done;
                }
                fetch_one(shared, row)?
            }
        };
        // Errors are those of the row itself: what goes wrong with a cache is tried again without it.
        self.once(Input::Stored(&mut { record }), scratch)
    }

    fn once(&self, input: Input<'_>, scratch: &mut Scratch) -> Result<bool> {
        let SampleJob { shared, epoch, row, .. } = *self;
        // SAFETY: each place of a flight is in exactly one piece, a piece is worked on by one thread, and the slot made
        // here is dropped before the next one for the same place (a second try, a replacement) is made.
        let mut slot = unsafe { self.filling.slot(self.place) };
        if shared.decode.defers(shared.plan.seed, epoch, row) {
            slot.defer();
        }
        let done = guarded(|| make(&shared.plan, epoch, row, input, &mut slot, scratch));
        if done.is_err() {
            // After a panic the scratch may be inconsistent; a new one is cheap.
            *scratch = Scratch::with_budget(Arc::clone(&shared.budget));
        }
        scratch.end_sample();
        done.map_err(|e| e.at(place_of(shared, row, self.name)))
    }
}
