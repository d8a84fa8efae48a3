//! What to keep and what to give up: arithmetic alone, no files.
//!
//! With [`Uses`], what is needed last goes first, and what would be needed later than everything kept is not kept at all: that
//! is Belady's algorithm, which no other can beat for chunks of one size.
//!
//! Without them, the chunk that was not used for the longest time goes first, but only when it looks dead: not used for longer
//! than chunks usually are between two uses. An epoch larger than the cache reads every chunk once; replacing the oldest would
//! throw each one away just before it is needed. Like this a stable share stays, and every epoch hits it.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Debug,
    hash::Hash,
};

/// A chunk that is never needed again, as far as is known.
pub(crate) const NEVER: u64 = u64::MAX;

/// The most chunks that are remembered although they are not kept.
const REMEMBERED: usize = 1 << 20;

/// The future of chunks.
pub(crate) trait Uses<K> {
    /// The first position that is still to come.
    fn now(&self) -> u64;
    /// The first position from `from` on at which a chunk is needed, or [`NEVER`].
    fn next(&self, chunk: K, from: u64) -> u64;
    /// How many of its bytes are needed from now on, before a position.
    fn needed(&self, chunk: K, before: u64) -> u64;
}

/// A chunk that should be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish<K> {
    pub(crate) id: K,
    pub(crate) bytes: u64,
    /// How many of its bytes are needed at once. `None` for one that is fetched before its next use: what counts is the use
    /// after that one.
    pub(crate) at_hand: Option<u64>,
}

/// What a cache of a limited size keeps.
#[derive(Debug)]
pub(crate) struct Policy<K> {
    limit: u64,
    used: u64,
    kept: HashMap<K, Kept>,
    /// Chunks that may go, and which goes first: the last of this set.
    order: BTreeSet<Rank<K>>,
    /// Bytes asked for so far: the clock of [`Kept::seen`].
    clock: u64,
    /// About the longest time between two uses of a chunk.
    longest: u64,
    /// When chunks were asked for that are not kept.
    missed: HashMap<K, u64>,
}

/// The next use as far as it was asked, the age, and the chunk: the greatest goes first.
type Rank<K> = (u64, u64, K);

#[derive(Debug, Clone, Copy)]
struct Kept {
    bytes: u64,
    /// The next use when it was last asked for: exact while it lies ahead.
    next: u64,
    seen: u64,
    /// Its bytes are still being written: it cannot go.
    reserved: bool,
}

impl Kept {
    fn rank<K>(&self, chunk: K) -> Rank<K> {
        (self.next, u64::MAX - self.seen, chunk)
    }
}

impl<K: Copy + Ord + Hash + Debug> Policy<K> {
    /// Nothing is kept yet.
    pub(crate) fn new(limit: u64) -> Self {
        Policy {
            limit,
            used: 0,
            kept: HashMap::new(),
            order: BTreeSet::new(),
            clock: 0,
            longest: 0,
            missed: HashMap::new(),
        }
    }

    /// Forgets what is kept, not what was learned.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.kept.clear();
        self.order.clear();
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

    /// Adds a chunk, or replaces what is known of it.
    pub(crate) fn insert(&mut self, chunk: K, bytes: u64, reserved: bool) {
        self.remove(chunk);
        self.missed.remove(&chunk);
        // The next use is asked for when something has to go; 0 has passed, so it is asked for then.
        let kept = Kept { bytes, next: 0, seen: self.clock, reserved };
        self.used += bytes;
        self.kept.insert(chunk, kept);
        if !reserved {
            self.order.insert(kept.rank(chunk));
        }
    }

    /// Removes a chunk. Returns whether it was there.
    pub(crate) fn remove(&mut self, chunk: K) -> bool {
        let Some(kept) = self.kept.remove(&chunk) else { return false };
        self.used -= kept.bytes;
        self.order.remove(&kept.rank(chunk));
        true
    }

    /// Some bytes of a chunk were asked for.
    pub(crate) fn touch(&mut self, chunk: K, bytes: u64) {
        self.clock += bytes;
        let before = match self.kept.get_mut(&chunk) {
            Some(kept) => {
                let (old, before) = (kept.rank(chunk), kept.seen);
                kept.seen = self.clock;
                if !kept.reserved {
                    self.order.remove(&old);
                    self.order.insert(kept.rank(chunk));
                }
                Some(before)
            }
            None if self.missed.len() < REMEMBERED => self.missed.insert(chunk, self.clock),
            None => None,
        };
        if let Some(before) = before {
            // Fades slowly, so that one chunk that was used after a day does not make all others look alive.
            self.longest = (self.clock - before).max(self.longest - self.longest / 4096);
        }
    }

    /// Decides about a chunk: the chunks that must go for it, or `None` if it is not worth its place.
    pub(crate) fn admit(&mut self, wish: Wish<K>, uses: Option<&dyn Uses<K>>) -> Option<Vec<K>> {
        let Wish { id: chunk, bytes, .. } = wish;
        if bytes > self.limit {
            return None;
        }
        let own = self.kept.get(&chunk).map_or(0, |kept| kept.bytes);
        let over = (self.used - own + bytes).saturating_sub(self.limit);
        if over == 0 {
            return Some(Vec::new());
        }
        match uses {
            Some(uses) => self.furthest(wish, over, uses),
            None => self.oldest(chunk, over),
        }
    }

    /// Frees `over` bytes of what is needed later than the chunk.
    fn furthest(&mut self, wish: Wish<K>, over: u64, uses: &dyn Uses<K>) -> Option<Vec<K>> {
        let Wish { id: chunk, bytes, at_hand } = wish;
        let now = uses.now();
        while let Some((next, _, passed)) = self.order.first().copied()
            && next < now
        {
            self.renew(passed, uses.next(passed, now).max(now));
        }
        let soon = uses.next(chunk, now);
        let mine = match at_hand {
            // The next use alone is no reason: it can be served without a place in the cache.
            None if soon != NEVER => uses.next(chunk, soon + 1),
            _ => soon,
        };
        let (mut victims, mut freed, mut before) = (Vec::new(), 0, None);
        let mut first = NEVER;
        while freed < over {
            let last = match before {
                None => self.order.last(),
                Some(before) => self.order.range(..before).next_back(),
            };
            let (next, age, victim) = *last?;
            // The future may reach further than when it was asked.
            let fresh = if next == NEVER { uses.next(victim, now).max(now) } else { next };
            if fresh != next {
                self.renew(victim, fresh);
                continue;
            }
            before = Some((next, age, victim));
            if victim == chunk {
                continue;
            }
            if next <= mine {
                return None;
            }
            freed += self.kept.get(&victim).map_or(0, |kept| kept.bytes);
            first = first.min(next);
            victims.push(victim);
        }
        // Fetching a whole chunk for a few of its bytes costs more than reading those bytes from the store.
        let needed = at_hand.unwrap_or(0).saturating_add(uses.needed(chunk, first));
        (needed >= bytes - bytes / 16).then_some(victims)
    }

    fn renew(&mut self, chunk: K, next: u64) {
        if let Some(kept) = self.kept.get_mut(&chunk) {
            self.order.remove(&kept.rank(chunk));
            kept.next = next;
            self.order.insert(kept.rank(chunk));
        }
    }

    /// Frees `over` bytes of what looks dead.
    fn oldest(&mut self, chunk: K, over: u64) -> Option<Vec<K>> {
        // What was ordered by a future that is no longer known is ordered by age again.
        while let Some((next, _, stale)) = self.order.last().copied()
            && next > 0
        {
            self.renew(stale, 0);
        }
        let alive = (2 * self.limit).max(self.longest + self.longest / 4);
        let (mut victims, mut freed) = (Vec::new(), 0);
        for (_, age, victim) in self.order.iter().rev() {
            if freed >= over {
                break;
            }
            if self.clock.saturating_sub(u64::MAX - age) <= alive {
                return None;
            }
            if *victim != chunk {
                freed += self.kept.get(victim).map_or(0, |kept| kept.bytes);
                victims.push(*victim);
            }
        }
        (freed >= over).then_some(victims)
    }
}

#[cfg(test)]
mod tests;
