//! What to keep and what to give up: arithmetic alone, no files.
//!
//! **Every miss costs its bytes, and no more.** A chunk that is not kept is read as it is asked for. So the question is not when a chunk
//! is needed but how many of its bytes are, before the future ends that is known. Where every byte is needed once in an epoch, no choice
//! beats another: what is hit in an epoch was kept over its beginning, so it is at most what fits. Then nothing is replaced, which
//! saves writing.
//!
//! **With [`Uses`]**, a chunk takes the place of others whose bytes are needed less often in the next epoch, by at least half of its
//! size: fetching a whole chunk of which some bytes were read before must pay.
//!
//! **Without them**, and for chunks that they do not know, age decides: a chunk goes that looks dead, because it was not used for longer than
//! chunks usually are between two uses. An epoch larger than the cache reads every chunk once; replacing the oldest would throw
//! each one away just before it is needed. Like this a stable share stays, and every epoch hits it.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Debug,
    hash::Hash,
};

/// The most chunks that are remembered although they are not kept.
const REMEMBERED: usize = 1 << 20;
/// A chunk must be needed more than what goes for it by its bytes divided by this.
const GAIN: u64 = 2;

/// The future of chunks.
pub(crate) trait Uses<K> {
    /// Changes whenever the answers do.
    fn version(&self) -> (u64, u64);
    /// How many bytes of a chunk are needed in the next epoch, if that is known.
    fn needed(&self, chunk: K) -> Option<u64>;
}

/// A chunk that should be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish<K> {
    pub(crate) id: K,
    pub(crate) bytes: u64,
}

/// What a cache of a limited size keeps.
#[derive(Debug)]
pub(crate) struct Policy<K> {
    limit: u64,
    used: u64,
    kept: HashMap<K, Kept>,
    /// Chunks that may go and whose future is known, the least needed first.
    known: BTreeSet<(u64, u64, K)>,
    /// Chunks that may go and are judged by their age, the oldest first.
    aged: BTreeSet<(u64, K)>,
    /// The version of what is known, and chunks that came since.
    version: Option<(u64, u64)>,
    fresh: Vec<K>,
    /// Bytes asked for so far: the clock of [`Kept::seen`].
    clock: u64,
    /// About the longest time between two uses of a chunk.
    longest: u64,
    /// When chunks were asked for that are not kept.
    missed: HashMap<K, u64>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    bytes: u64,
    /// How many of its bytes are needed in the next epoch, as far as it was asked.
    needed: Option<u64>,
    seen: u64,
    /// Its bytes are still being written: it cannot go.
    reserved: bool,
}

impl Kept {
    /// What is needed of each 256 of its bytes: chunks differ in size.
    fn density(&self, needed: u64) -> u64 {
        needed.saturating_mul(256) / self.bytes.max(1)
    }
}

impl<K: Copy + Ord + Hash + Debug> Policy<K> {
    /// Nothing is kept yet.
    pub(crate) fn new(limit: u64) -> Self {
        Policy {
            limit,
            used: 0,
            kept: HashMap::new(),
            known: BTreeSet::new(),
            aged: BTreeSet::new(),
            version: None,
            fresh: Vec::new(),
            clock: 0,
            longest: 0,
            missed: HashMap::new(),
        }
    }

    /// Forgets what is kept, not what was learned.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.kept.clear();
        self.known.clear();
        self.aged.clear();
        self.fresh.clear();
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Bytes of all chunks, those that are being written included.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn chunks(&self) -> usize {
        self.kept.len()
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, chunk: K) -> bool {
        self.kept.contains_key(&chunk)
    }

    /// Chunks that are being written.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = K> + '_ {
        self.kept.iter().filter(|(_, kept)| kept.reserved).map(|(chunk, _)| *chunk)
    }

    /// All chunks with their bytes, and whether they are being written.
    pub(crate) fn all(&self) -> impl Iterator<Item = (K, u64, bool)> + '_ {
        self.kept.iter().map(|(chunk, kept)| (*chunk, kept.bytes, kept.reserved))
    }

    /// Puts a chunk into the list from which it may go.
    fn enlist(&mut self, chunk: K, kept: Kept) {
        match kept.needed {
            _ if kept.reserved => {}
            Some(needed) => {
                self.known.insert((kept.density(needed), kept.seen, chunk));
            }
            None => {
                self.aged.insert((kept.seen, chunk));
            }
        }
    }

    fn delist(&mut self, chunk: K, kept: Kept) {
        match kept.needed {
            Some(needed) => self.known.remove(&(kept.density(needed), kept.seen, chunk)),
            None => self.aged.remove(&(kept.seen, chunk)),
        };
    }

    /// Changes what is known of a chunk.
    fn change(&mut self, chunk: K, change: impl FnOnce(&mut Kept)) {
        if let Some(mut kept) = self.kept.get(&chunk).copied() {
            self.delist(chunk, kept);
            change(&mut kept);
            self.enlist(chunk, kept);
            self.kept.insert(chunk, kept);
        }
    }

    /// Adds a chunk, or replaces what is known of it.
    pub(crate) fn insert(&mut self, chunk: K, bytes: u64, reserved: bool) {
        self.remove(chunk);
        self.missed.remove(&chunk);
        let kept = Kept { bytes, needed: None, seen: self.clock, reserved };
        self.used += bytes;
        self.kept.insert(chunk, kept);
        self.enlist(chunk, kept);
        // What is needed of it is asked for when something has to go.
        if self.version.is_some() {
            self.fresh.push(chunk);
        }
    }

    /// Removes a chunk. Returns whether it was there.
    pub(crate) fn remove(&mut self, chunk: K) -> bool {
        let Some(kept) = self.kept.remove(&chunk) else { return false };
        self.used -= kept.bytes;
        self.delist(chunk, kept);
        true
    }

    /// Some bytes of a chunk were asked for.
    pub(crate) fn touch(&mut self, chunk: K, bytes: u64) {
        self.clock += bytes;
        let clock = self.clock;
        let before = match self.kept.get(&chunk).map(|kept| kept.seen) {
            Some(before) => {
                self.change(chunk, |kept| kept.seen = clock);
                Some(before)
            }
            None if self.missed.len() < REMEMBERED => self.missed.insert(chunk, clock),
            None => None,
        };
        if let Some(before) = before {
            // Fades slowly, so that one chunk that was used after a day does not make all others look alive.
            self.longest = (self.clock - before).max(self.longest - self.longest / 4096);
        }
    }

    /// Decides about a chunk: the chunks that must go for it, or `None` if it is not worth its place.
    pub(crate) fn admit(&mut self, wish: Wish<K>, uses: Option<&dyn Uses<K>>) -> Option<Vec<K>> {
        let Wish { id: chunk, bytes } = wish;
        if bytes > self.limit {
            return None;
        }
        let own = self.kept.get(&chunk).map_or(0, |kept| kept.bytes);
        let over = (self.used - own + bytes).saturating_sub(self.limit);
        if over == 0 {
            return Some(Vec::new());
        }
        self.learn(uses);
        let (mut victims, mut freed) = (Vec::new(), 0);
        let alive = (2 * self.limit).max(self.longest + self.longest / 4);
        for (seen, victim) in self.aged.iter().filter(|(_, victim)| *victim != chunk) {
            if freed >= over || self.clock.saturating_sub(*seen) <= alive {
                break;
            }
            freed += self.kept.get(victim).map_or(0, |kept| kept.bytes);
            victims.push(*victim);
        }
        if freed < over {
            let gain = uses.and_then(|uses| uses.needed(chunk))?;
            let mut lost = bytes / GAIN;
            for (_, _, victim) in self.known.iter().filter(|(_, _, victim)| *victim != chunk) {
                let Some(kept) = self.kept.get(victim) else { continue };
                lost = lost.saturating_add(kept.needed.unwrap_or(0));
                if freed >= over || lost > gain {
                    break;
                }
                freed += kept.bytes;
                victims.push(*victim);
            }
        }
        (freed >= over).then_some(victims)
    }

    /// Asks what is needed of chunks about which that is not known, or not any more.
    fn learn(&mut self, uses: Option<&dyn Uses<K>>) {
        let version = uses.map(Uses::version);
        let asked: Vec<K> = if version == self.version {
            std::mem::take(&mut self.fresh)
        } else {
            self.fresh.clear();
            self.kept.keys().copied().collect()
        };
        self.version = version;
        for chunk in asked {
            let needed = uses.and_then(|uses| uses.needed(chunk));
            self.change(chunk, |kept| kept.needed = needed);
        }
    }
}

#[cfg(test)]
mod tests;
