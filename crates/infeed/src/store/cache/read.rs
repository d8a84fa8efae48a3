//! Reading through a cache.

use super::{
    chunks::{Need, Part, join},
    object::Object,
    process::{Begun, Process},
    shared::{RUN, Shared, Ticket},
    stats::add,
};
use bytes::Bytes;
use infeed_core::pool::PoolBuffer;
use infeed_core::{Result, Shard, signals};
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Bytes that are fetched at a time for one read: a read of a whole large object must not hold it in memory twice.
const AT_ONCE: u64 = 64 << 20;

/// What a read has to fetch.
struct Reading<'a> {
    shared: &'a Shared,
    process: &'a Process,
    shard: &'a Shard,
    object: &'a Arc<Object>,
    out: Vec<PoolBuffer>,
}

impl Shared {
    pub(super) fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let process = self.process();
        let object = self.object(process, shard).filter(|object| object.grid.holds(ranges));
        // The store has the right words for ranges that are wrong.
        let Some(object) = object else { return self.through(shard, ranges) };
        let len = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let out = ranges.iter().map(|range| self.pool.take(len(range))).collect::<Result<_>>()?;
        let mut reading = Reading { shared: self, process, shard, object: &object, out };
        let (needs, mut missing) = (object.grid.needs(ranges), Vec::new());
        let asked = needs.len();
        for need in needs {
            process.touch((object.key, need.chunk), need.bytes());
            if !self.serve(process, &object, &need, &mut reading.out) {
                missing.push(need);
            }
        }
        if !missing.is_empty() {
            process.found(false);
        }
        add(&self.counters.misses, missing.len() as u64);
        add(&self.counters.hits, (asked - missing.len()) as u64);
        let mut waiting = Vec::new();
        let mut rest = missing.into_iter().peekable();
        while rest.peek().is_some() {
            let mut bytes = 0;
            let mut group = Vec::new();
            while bytes < AT_ONCE
                && let Some(need) = rest.next()
            {
                bytes += object.grid.len(need.chunk);
                group.push(need);
            }
            reading.fetch(group, &mut waiting)?;
        }
        // Nothing is claimed by this thread here, so two processes never wait for each other.
        waiting.into_iter().try_for_each(|need| reading.wait(need))?;
        Ok(reading.out.into_iter().map(PoolBuffer::freeze).collect())
    }
}

impl<'a> Reading<'a> {
    /// Fetches chunks that nobody else fetches. The others are left in `waiting`.
    fn fetch(&mut self, needs: Vec<Need>, waiting: &mut Vec<Need>) -> Result<()> {
        let (mut whole, mut tickets, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        for need in needs {
            match self.begin(&need) {
                Begun::Mine(claim, flight) => {
                    tickets.push(Ticket::new(self.process, claim, flight));
                    whole.push(need);
                }
                Begun::Unwanted => exact.extend(need.parts),
                Begun::Present | Begun::Busy(_) => waiting.push(need),
            }
        }
        self.run(tickets, &whole, exact)
    }

    fn begin(&self, need: &Need) -> Begun {
        if !self.shared.writes() {
            return Begun::Unwanted;
        }
        let wish = self.shared.wish(self.object, need.chunk);
        self.process.begin(self.object, wish, &self.shared.counters).unwrap_or_else(|e| {
            self.shared.turn_off(&e);
            Begun::Unwanted
        })
    }

    fn run(&mut self, tickets: Vec<Ticket<'a>>, whole: &[Need], mut exact: Vec<Part>) -> Result<()> {
        if tickets.is_empty() && exact.is_empty() {
            return Ok(());
        }
        // Parts of one range in neighbouring chunks are read as one.
        exact.sort_by_key(|part| (part.range, part.at));
        let mut joined: Vec<Part> = Vec::new();
        for part in exact {
            match joined.last_mut() {
                Some(last) if last.range == part.range && last.bytes.end == part.bytes.start => {
                    last.bytes.end = part.bytes.end;
                }
                _ => joined.push(part),
            }
        }
        add(&self.shared.counters.passed, joined.len() as u64);
        let ranges: Vec<Range<u64>> = joined.iter().map(|part| part.bytes.clone()).collect();
        let (object, out) = (self.object, &mut self.out);
        let each = |place: usize, bytes: &[u8]| {
            let need: &Need = &whole[place];
            let start = object.grid.bytes(need.chunk).start;
            for part in &need.parts {
                let from = (part.bytes.start - start) as usize;
                let len = (part.bytes.end - part.bytes.start) as usize;
                out[part.range][part.at..part.at + len].copy_from_slice(&bytes[from..from + len]);
            }
        };
        let rest = self.shared.fetch(self.process, self.shard, object, tickets, &ranges, each)?;
        for (part, bytes) in joined.iter().zip(rest) {
            self.out[part.range][part.at..part.at + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// Waits for a chunk that somebody else fetches. Whoever that is may be killed, or stopped: it is fetched then, or read without
    /// being kept.
    fn wait(&mut self, need: Need) -> Result<()> {
        let (late, patience) = (&self.shared.late, self.shared.options.patience);
        // One that is stopped holds many chunks: it is not waited for as long for each of them.
        let until = Instant::now() + patience / (1 << late.load(Relaxed).min(10));
        let mut pause = Duration::from_micros(200);
        let (mut waited, mut vain) = (false, 0);
        loop {
            if self.shared.serve(self.process, self.object, &need, &mut self.out) {
                let _ = late.fetch_update(Relaxed, Relaxed, |times| times.checked_sub(1));
                return Ok(());
            }
            let over = Instant::now() > until;
            match self.begin(&need) {
                Begun::Mine(claim, flight) => {
                    let ticket = Ticket::new(self.process, claim, flight);
                    return self.run(vec![ticket], &[need], Vec::new());
                }
                Begun::Busy(flight) if !over && !signals::is_cancelled() => {
                    if !std::mem::replace(&mut waited, true) {
                        add(&self.shared.counters.waits, 1);
                    }
                    match flight {
                        Some(flight) => flight.wait(Duration::from_millis(20)),
                        None => std::thread::sleep(pause),
                    }
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                // It is there now, or it is there and cannot be read.
                Begun::Present if vain < 3 => vain += 1,
                _ => {
                    late.fetch_add(u32::from(over), Relaxed);
                    return self.run(Vec::new(), &[], need.parts);
                }
            }
        }
    }
}

/// The ranges that a store should be told of, for parts of chunks that are not kept.
pub(super) fn announced(parts: &[Part]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = parts.iter().map(|part| part.bytes.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    join(ranges.into_iter(), RUN)
}
