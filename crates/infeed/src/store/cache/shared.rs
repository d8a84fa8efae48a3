//! The parts of a cache that its threads share: reading from files, fetching, keeping.

use super::{
    chunks::Need,
    claim::{Claim, is_at},
    file::{ChunkFile, file_bytes},
    index::Wish,
    object::{ChunkId, Object},
    options::CacheOptions,
    process::{Flight, Process},
    stats::{Counters, add},
};
use crate::store::{Pool, PoolBuffer, stores::check_lengths};
use bytes::Bytes;
use infeed_core::{Hold, Result, Shard, Store};
use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    ops::Range,
    path::PathBuf,
    sync::{Arc, OnceLock, atomic::AtomicU32},
};

/// The largest range that a store is asked for at once.
pub(super) const RUN: u64 = 16 << 20;
/// Objects that are remembered at a time.
pub(super) const OBJECTS: usize = 1 << 16;

/// Everything but the handle that the user has.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) inner: Arc<dyn Store>,
    pub(super) options: CacheOptions,
    pub(super) root: PathBuf,
    pub(super) limit: u64,
    pub(super) pool: Arc<Pool>,
    pub(super) counters: Counters,
    /// Why nothing is written any more.
    pub(super) off: OnceLock<String>,
    /// How often somebody else took too long, less how often not.
    pub(super) late: AtomicU32,
    pub(super) first: Process,
}

/// A chunk that this thread fetches.
#[derive(Debug)]
pub(super) struct Ticket<'a> {
    process: &'a Process,
    claim: Option<Claim>,
    flight: Arc<Flight>,
    id: ChunkId,
    settled: bool,
}

impl<'a> Ticket<'a> {
    pub(super) fn new(process: &'a Process, claim: Claim, flight: Arc<Flight>) -> Self {
        let id = claim.id();
        Ticket { process, claim: Some(claim), flight, id, settled: false }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        // The claim first: whoever is woken can take it.
        self.claim = None;
        if !self.settled {
            self.process.give_up(self.id);
        }
        self.process.end(self.id, &self.flight);
    }
}

impl Shared {
    pub(super) fn process(&self) -> &Process {
        self.first.current(&self.root, self.limit, self.options.chunk)
    }

    /// Whether chunks are written.
    pub(super) fn writes(&self) -> bool {
        self.off.get().is_none()
    }

    /// Writes nothing any more. Only the first reason is kept.
    pub(super) fn turn_off(&self, error: &io::Error) {
        // Faults of a moment, or of this process: the cache is none the worse for them.
        let passing = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EINTR, libc::EAGAIN];
        let passes = error.raw_os_error().is_some_and(|code| passing.contains(&code));
        if passes || error.kind() == ErrorKind::TimedOut {
            return;
        }
        let folder = self.options.folder.display();
        let what = format!(
            "the cache `{folder}` is not written to any more: {error}; bytes that are not in it come from the store"
        );
        let _ = self.off.set(what);
    }

    /// The object of a shard, if its bytes can be cached.
    pub(super) fn object(&self, process: &Process, shard: &Shard) -> Option<Arc<Object>> {
        if let Some(known) = process.objects.hold().get(shard) {
            return known.clone();
        }
        let object = Object::new(&self.root, shard, self.options.chunk);
        // Another object with the same key is so unlikely that it only has to be correct.
        let own = |object: &Object| {
            Object::load(&self.root, object.key).is_none_or(|there| there.about == object.about)
        };
        let object = object.filter(own).map(Arc::new);
        let mut objects = process.objects.hold();
        // Millions of small objects must not fill the memory; what is needed of them is found again.
        if objects.len() >= OBJECTS {
            objects.clear();
        }
        objects.insert(shard.clone(), object.clone());
        object
    }

    /// What the cache needs to know of a chunk to keep it.
    pub(super) fn wish(&self, object: &Object, chunk: u32) -> Wish {
        let bytes = file_bytes(object.grid.len(chunk), object.grid.chunk);
        Wish { id: (object.key, chunk), bytes }
    }

    /// Reads ranges from the store.
    pub(super) fn through(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.inner.read(shard, ranges)?;
        check_lengths(shard, ranges, &bytes)?;
        add(&self.counters.store_bytes, bytes.iter().map(|b| b.len() as u64).sum());
        Ok(bytes)
    }

    /// Reads the needed parts of a chunk from its file. `false` if there is none, or none that is sound.
    pub(super) fn serve(
        &self,
        process: &Process,
        object: &Object,
        need: &Need,
        out: &mut [PoolBuffer],
    ) -> bool {
        let id = (object.key, need.chunk);
        let open = || {
            let file = File::open(object.chunk(need.chunk)).ok()?;
            let data = file.metadata().ok()?;
            Some((process.handles.put(id, file), data))
        };
        let Some((file, data)) = process.handles.get(id).or_else(open) else {
            process.forget(&[id]);
            return false;
        };
        let known = process.checked.hold().get(&id).copied();
        let start = object.grid.bytes(need.chunk).start;
        let (len, size) = (object.grid.len(need.chunk), object.grid.chunk);
        let read = ChunkFile::with(&file, &data, id, len, size, known).and_then(|mut chunk| {
            for part in &need.parts {
                let (from, to) = (part.bytes.start - start, part.bytes.end - start);
                let out = out[part.range].get_mut(part.at..part.at + (to - from) as usize);
                chunk.read(from..to, out.ok_or(ErrorKind::Other)?)?;
            }
            Ok(chunk.checked())
        });
        match read {
            Ok(checked) => {
                if known != Some(checked) {
                    process.checked.hold().insert(id, checked);
                }
                add(&self.counters.cache_bytes, need.bytes());
                true
            }
            Err(e) => {
                process.forget(&[id]);
                if e.kind() == ErrorKind::InvalidData {
                    add(&self.counters.damaged, 1);
                    // Not one that somebody else has put there meanwhile.
                    let path = object.chunk(need.chunk);
                    if is_at(&file, &path) {
                        let _ = fs::remove_file(&path);
                    }
                }
                false
            }
        }
    }

    /// Fetches whole chunks, keeps them, and hands each one to `each`. The `exact` ranges are read in
    /// the same request and returned.
    pub(super) fn fetch(
        &self,
        process: &Process,
        shard: &Shard,
        object: &Object,
        tickets: Vec<Ticket<'_>>,
        exact: &[Range<u64>],
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<Vec<Bytes>> {
        let chunks: Vec<u32> = tickets.iter().map(|ticket| ticket.id.1).collect();
        let mut ranges = object.grid.runs(&chunks, RUN);
        let runs = ranges.len();
        ranges.extend(exact.iter().cloned());
        let mut fetched = self.through(shard, &ranges)?;
        let rest = fetched.split_off(runs);
        let mut bytes = Vec::new();
        for (place, chunk) in chunks.iter().enumerate() {
            let own = object.grid.bytes(*chunk);
            // Every chunk is in one of the runs.
            let run = ranges[..runs].partition_point(|run| run.end <= own.start);
            let from = (own.start - ranges[run].start) as usize;
            let one = fetched[run].slice(from..from + (own.end - own.start) as usize);
            each(place, &one);
            bytes.push(one);
        }
        self.keep(process, object, tickets, &bytes);
        Ok(rest)
    }

    /// Writes chunks into the cache, where room was made for them.
    fn keep(&self, process: &Process, object: &Object, mut tickets: Vec<Ticket<'_>>, bytes: &[Bytes]) {
        let mut settled: Vec<(Wish, bool)> = Vec::new();
        for (ticket, bytes) in tickets.iter_mut().zip(bytes) {
            let Some(claim) = ticket.claim.as_mut().filter(|_| self.writes()) else { continue };
            match claim.fill(bytes) {
                Ok(checked) => {
                    process.checked.hold().insert(ticket.id, checked);
                    settled.push((self.wish(object, ticket.id.1), true));
                    ticket.settled = true;
                }
                Err(e) => self.turn_off(&e),
            }
        }
        if let Some(Err(e)) = process.with_index(|index, _| index.settle(&settled)) {
            self.turn_off(&e);
        }
    }

    /// Whether a chunk is in the cache.
    pub(super) fn is_there(&self, object: &Object, id: ChunkId) -> bool {
        object.chunk(id.1).exists()
    }
}
