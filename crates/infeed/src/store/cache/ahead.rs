//! Fetching chunks before they are asked for.
//!
//! Announced chunks are claimed in the order of their announcement, as many as [`CacheOptions::ahead`] allows, and the store is told
//! of those only: of all processes that announce a chunk, one fetches it. Threads of the cache then read them from the store and write
//! them to the cache, whether or not this process comes to need them soon: others may wait for them. A reader that needs a
//! chunk whose turn has not come takes it over.
//!
//! [`CacheOptions::ahead`]: super::CacheOptions::ahead

use super::{
    chunks::Need,
    object::{ChunkId, Object},
    process::{Begun, Flight, Process},
    read::announced,
    shared::{RUN, Shared, Ticket},
    stats::add,
};
use infeed_core::{Hold, Shard, WaitHeld};
use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, Condvar, Mutex, Weak},
};

/// Threads that fetch. Stores that are told of ranges fetch them on their own, so a few can collect what many requests bring.
const THREADS: usize = 4;
/// Announced chunks that are remembered; what is announced beyond is forgotten.
const ANNOUNCED: usize = 1 << 16;

/// What is to be fetched by a process.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    state: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    announced: VecDeque<Announced>,
    claimed: VecDeque<Job>,
    /// Bytes of claimed chunks, those that are being fetched included.
    bytes: u64,
    threads: usize,
    closed: bool,
}

/// A chunk that will be needed.
#[derive(Debug)]
struct Announced {
    shard: Arc<Shard>,
    object: Arc<Object>,
    need: Need,
}

/// Neighbouring chunks that are fetched together.
#[derive(Debug)]
struct Job {
    shard: Arc<Shard>,
    object: Arc<Object>,
    chunks: Vec<(Need, Arc<Flight>)>,
    bytes: u64,
}

impl Ahead {
    /// Whether nothing is being fetched.
    pub(super) fn is_idle(&self) -> bool {
        self.state.hold().bytes == 0
    }

    /// Ends the threads when they have finished what they do. Returns the claims that nobody will fetch.
    pub(super) fn close(&self) -> Vec<(ChunkId, Arc<Flight>)> {
        let mut queue = self.state.hold();
        queue.closed = true;
        queue.announced.clear();
        let jobs = std::mem::take(&mut queue.claimed);
        drop(queue);
        self.wake.notify_all();
        let ids = |job: Job| {
            job.chunks.into_iter().map(move |(need, flight)| ((job.object.key, need.chunk), flight))
        };
        jobs.into_iter().flat_map(ids).collect()
    }
}

impl Shared {
    /// Announces ranges to come.
    pub(super) fn announce(self: &Arc<Self>, shard: &Shard, ranges: &[Range<u64>]) {
        let ranges: Vec<Range<u64>> = ranges
            .iter()
            .map(|range| range.start..range.end.min(shard.size))
            .filter(|range| range.start < range.end)
            .collect();
        let process = self.process();
        let object = self.object(process, shard).filter(|object| object.grid.holds(&ranges));
        let Some(object) = object else { return self.inner.will_read(shard, &ranges) };
        // Most chunks of a warm cache were used before. One that was taken away meanwhile is fetched when it is read.
        let mut needs = object.grid.needs(&ranges);
        needs.retain(|need| !process.has((object.key, need.chunk)));
        process.found(needs.is_empty());
        if !self.writes() || process.index.is_none() {
            // Nothing is fetched for the cache, and what it has is not fetched at all.
            needs.retain(|need| !self.is_there(&object, (object.key, need.chunk)));
            let parts: Vec<_> = needs.into_iter().flat_map(|need| need.parts).collect();
            let rest = announced(&parts);
            if !rest.is_empty() {
                self.inner.will_read(shard, &rest);
            }
            return;
        }
        if needs.is_empty() {
            return;
        }
        let shard = Arc::new(shard.clone());
        let mut queue = process.ahead.state.hold();
        for need in needs {
            let last = queue.announced.back_mut();
            if let Some(last) =
                last.filter(|last| Arc::ptr_eq(&last.object, &object) && last.need.chunk == need.chunk)
            {
                last.need.parts.extend(need.parts);
            } else if queue.announced.len() < ANNOUNCED {
                let (shard, object) = (Arc::clone(&shard), Arc::clone(&object));
                queue.announced.push_back(Announced { shard, object, need });
            }
        }
        drop(queue);
        self.claim_announced(process);
    }

    /// Claims what was announced, up to the limit.
    fn claim_announced(self: &Arc<Self>, process: &Process) {
        loop {
            let mut batch: Vec<Announced> = Vec::new();
            let mut queue = process.ahead.state.hold();
            if queue.closed || queue.bytes >= self.options.ahead {
                return;
            }
            let mut bytes = 0;
            while let Some(next) = queue.announced.front() {
                let follows = |last: &Announced| {
                    Arc::ptr_eq(&last.object, &next.object)
                        && last.need.chunk.checked_add(1) == Some(next.need.chunk)
                };
                let len = next.object.grid.len(next.need.chunk);
                if batch.last().is_some_and(|last| !follows(last) || bytes + len > RUN) {
                    break;
                }
                bytes += len;
                batch.extend(queue.announced.pop_front());
            }
            drop(queue);
            let Some(first) = batch.first() else { return };
            let (shard, object) = (Arc::clone(&first.shard), Arc::clone(&first.object));
            self.claim_batch(process, shard, object, batch);
        }
    }

    fn claim_batch(
        self: &Arc<Self>,
        process: &Process,
        shard: Arc<Shard>,
        object: Arc<Object>,
        batch: Vec<Announced>,
    ) {
        let (mut chunks, mut bytes, mut exact) = (Vec::new(), 0, Vec::new());
        for Announced { need, .. } in batch {
            let wish = self.wish(&object, need.chunk);
            if self.is_there(&object, wish.id) {
                continue;
            }
            if process.flights.hold().contains_key(&wish.id) {
                continue;
            }
            match process.begin(&object, wish, &self.counters) {
                Ok(Begun::Mine(claim, flight)) => {
                    bytes += object.grid.len(need.chunk);
                    flight.put(claim);
                    chunks.push((need, flight));
                }
                Ok(Begun::Unwanted) => exact.extend(need.parts),
                Ok(Begun::Present | Begun::Busy(_)) => {}
                Err(e) => {
                    self.turn_off(&e);
                    exact.extend(need.parts);
                }
            }
        }
        if !exact.is_empty() {
            self.inner.will_read(&shard, &announced(&exact));
        }
        if chunks.is_empty() {
            return;
        }
        let numbers: Vec<u32> = chunks.iter().map(|(need, _)| need.chunk).collect();
        self.inner.will_read(&shard, &object.grid.runs(&numbers, RUN));
        let mut queue = process.ahead.state.hold();
        queue.bytes += bytes;
        queue.claimed.push_back(Job { shard, object, chunks, bytes });
        if queue.threads < THREADS && self.start_thread(process) {
            queue.threads += 1;
        }
        if queue.threads == 0 || queue.closed {
            drop(queue);
            return process.close();
        }
        drop(queue);
        process.ahead.wake.notify_one();
    }

    fn start_thread(self: &Arc<Self>, process: &Process) -> bool {
        let (shared, ahead) = (Arc::downgrade(self), Arc::clone(&process.ahead));
        let started = std::thread::Builder::new()
            .name("infeed-cache".to_owned())
            .spawn(move || collect(&shared, &ahead));
        started.is_ok()
    }

    /// Fetches what a job still has.
    fn collect(self: &Arc<Self>, process: &Process, job: &Job) {
        let mut tickets = Vec::new();
        for (_, flight) in &job.chunks {
            if let Some(claim) = flight.take() {
                tickets.push(Ticket::new(process, claim, Arc::clone(flight)));
            }
        }
        if tickets.is_empty() || !self.writes() {
            return;
        }
        add(&self.counters.ahead, tickets.len() as u64);
        // An error comes again, and is reported, when the bytes are asked for.
        let _ = self.fetch(process, &job.shard, &job.object, tickets, &[], |_, _| {});
    }
}

/// The work of a thread.
fn collect(shared: &Weak<Shared>, ahead: &Ahead) {
    loop {
        let mut queue = ahead.state.hold();
        let job = loop {
            if queue.closed {
                return;
            }
            match queue.claimed.pop_front() {
                Some(job) => break job,
                None => queue = ahead.wake.wait_held(queue),
            }
        };
        drop(queue);
        let Some(shared) = shared.upgrade() else { return };
        let process = shared.process();
        shared.collect(process, &job);
        ahead.state.hold().bytes -= job.bytes;
        shared.claim_announced(process);
    }
}
