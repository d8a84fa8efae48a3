//! The extents of all objects, and the queue of those to fetch.

use super::{
    Object,
    extent::{Extent, NO_STEP},
    pace, ranges,
};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Range,
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
};

#[derive(Debug)]
pub(super) struct Table {
    /// By object and first byte; those of one object do not overlap.
    extents: HashMap<Arc<str>, BTreeMap<u64, Arc<Extent>>>,
    /// Those that somebody waits for, and those that were announced, in the order in which they are needed.
    urgent: VecDeque<Arc<Extent>>,
    ahead: VecDeque<Arc<Extent>>,
    /// Bytes of all extents, and of those that were not read yet.
    held: u64,
    unread: u64,
    limit: u64,
    /// Bytes that should be on their way or here before they are read.
    target: u64,
    running: usize,
    clock: u64,
    /// The run and step that announcements are for, if somebody says.
    now: Option<(u64, u64)>,
    /// What was announced, by run and step. An extent that was announced for several steps is in the lists of all. Weak, so that
    /// the bytes of extents that are gone go with them.
    steps: BTreeMap<(u64, u64), Vec<Weak<Extent>>>,
}

impl Table {
    pub(super) fn new(limit: u64) -> Self {
        Table {
            extents: HashMap::new(),
            urgent: VecDeque::new(),
            ahead: VecDeque::new(),
            held: 0,
            unread: 0,
            limit,
            target: pace::LEAST,
            running: 0,
            clock: 0,
            now: None,
            steps: BTreeMap::new(),
        }
    }

    pub(super) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// What is missing to the target, as far as memory allows it: a little is left free for reads that nobody announced. An
    /// eighth may always be on its way, also where extents that were read in part take all the memory.
    pub(super) fn room(&self) -> u64 {
        let free = (self.limit - self.limit / 16).saturating_sub(self.held);
        let few = (self.limit / 8).saturating_sub(self.unread);
        free.max(few).min(self.target.saturating_sub(self.unread))
    }

    /// Whether nothing more may be announced, after what was read in part has made room.
    pub(super) fn is_full(&mut self) -> bool {
        if self.held >= self.limit {
            self.shrink();
        }
        self.held >= self.limit
    }

    /// Announcements are for this step from now on. Extents that were announced for steps before `done` and for none since go.
    pub(super) fn ahead_for(&mut self, run: u64, step: u64, done: u64) {
        self.now = Some((run, step));
        while let Some(entry) = self.steps.range((run, 0)..(run, done)).next().map(|(key, _)| *key) {
            for extent in self.steps.remove(&entry).unwrap_or_default() {
                let Some(extent) = extent.upgrade() else { continue };
                if extent.step.load(Relaxed) != entry.1 || !self.has(&extent) {
                    continue;
                }
                if extent.is_coming() {
                    // Its request cannot be called back.
                    extent.step.store(done, Relaxed);
                    self.steps.entry((run, done)).or_default().push(Arc::downgrade(&extent));
                } else {
                    self.remove(&extent);
                }
            }
        }
    }

    /// Whether all of a range was asked for already.
    pub(super) fn holds(&self, object: &Object, range: &Range<u64>) -> bool {
        let Some(mine) = self.extents.get(&object.identity) else { return range.start >= range.end };
        let mut at = range.start;
        while at < range.end {
            let before = mine.range(..=at).next_back().map(|(_, extent)| extent);
            match before.filter(|extent| at < extent.range.end) {
                Some(extent) => at = extent.range.end,
                None => return false,
            }
        }
        true
    }

    /// Returns the extents that hold a range, in order. What is missing is put into the queue.
    pub(super) fn cover(
        &mut self,
        object: &Arc<Object>,
        range: Range<u64>,
        urgent: bool,
    ) -> Vec<Arc<Extent>> {
        self.clock += 1;
        let now = self.clock;
        // A server that sends whole objects only: one extent. Parts that were asked for before that was known would be refused;
        // those who wait for one of them have it in hand.
        let whole = object.whole.load(Relaxed);
        let range = if whole { 0..object.size } else { range };
        if whole {
            let parts = self.extents.get(&object.identity).into_iter().flat_map(BTreeMap::values);
            let parts: Vec<Arc<Extent>> = parts.filter(|extent| extent.range != range).cloned().collect();
            parts.iter().for_each(|extent| self.remove(extent));
        }
        let mut covering = Vec::new();
        let mut fresh = Vec::new();
        let mut at = range.start;
        let mine = self.extents.entry(Arc::clone(&object.identity)).or_default();
        while at < range.end {
            let before = mine.range(..=at).next_back().map(|(_, extent)| extent);
            if let Some(extent) = before.filter(|extent| at < extent.range.end) {
                extent.used.store(now, Relaxed);
                if urgent && !extent.begun.load(Relaxed) {
                    // Announced, and now somebody waits: again in the queue, before the others.
                    fresh.push(Arc::clone(extent));
                }
                at = extent.range.end;
                covering.push(Arc::clone(extent));
                continue;
            }
            let next = mine.range(at..).next().map_or(u64::MAX, |(start, _)| *start);
            let gap = at..range.end.min(next);
            at = gap.end;
            let parts: Vec<Range<u64>> = if whole { vec![gap] } else { ranges::split(&gap).collect() };
            for part in parts {
                let extent = Extent::new(object, part.clone(), now);
                self.held += extent.len();
                self.unread += extent.len();
                mine.insert(part.start, Arc::clone(&extent));
                covering.push(Arc::clone(&extent));
                fresh.push(extent);
            }
        }
        if urgent {
            self.urgent.extend(fresh);
        } else {
            if let Some(now) = self.now {
                covering.iter().for_each(|extent| extent.step.store(now.1, Relaxed));
                self.steps.entry(now).or_default().extend(covering.iter().map(Arc::downgrade));
            }
            self.ahead.extend(fresh);
        }
        if self.held > self.limit {
            self.shrink();
        }
        covering
    }

    /// The extent that waits first.
    pub(super) fn peek(&self) -> Option<&Arc<Extent>> {
        self.urgent.front().or_else(|| self.ahead.front())
    }

    /// Takes the next extent to fetch, if another request may run.
    pub(super) fn next(&mut self, limit: usize) -> Option<Arc<Extent>> {
        while self.running < limit {
            let extent = self.urgent.pop_front().or_else(|| self.ahead.pop_front())?;
            // It can be in both queues.
            if !extent.begun.swap(true, Relaxed) {
                self.running += 1;
                return Some(extent);
            }
        }
        None
    }

    /// A request has ended. Returns whether others were waiting to be started.
    pub(super) fn ended(&mut self, target: u64) -> bool {
        self.target = target;
        self.running = self.running.saturating_sub(1);
        !self.urgent.is_empty() || !self.ahead.is_empty()
    }

    /// A reader took bytes of an extent. When it has given all of them, it goes, unless it was announced for steps that are not done:
    /// they may be those of the next epoch, which needs all of its rows once more.
    pub(super) fn used(&mut self, extent: &Arc<Extent>, bytes: u64) {
        self.clock += 1;
        extent.used.store(self.clock, Relaxed);
        let before = extent.read.fetch_add(bytes, Relaxed);
        if before == 0 && self.has(extent) {
            self.unread = self.unread.saturating_sub(extent.len());
        }
        if before + bytes >= extent.len() && extent.step.load(Relaxed) == NO_STEP {
            self.remove(extent);
        }
    }

    fn has(&self, extent: &Arc<Extent>) -> bool {
        let mine = self.extents.get(&extent.object.identity);
        mine.and_then(|mine| mine.get(&extent.range.start)).is_some_and(|known| Arc::ptr_eq(known, extent))
    }

    pub(super) fn remove(&mut self, extent: &Arc<Extent>) {
        if !self.has(extent) {
            return;
        }
        if let Some(mine) = self.extents.get_mut(&extent.object.identity) {
            mine.remove(&extent.range.start);
            if mine.is_empty() {
                self.extents.remove(&extent.object.identity);
            }
        }
        self.held = self.held.saturating_sub(extent.len());
        if extent.read.load(Relaxed) == 0 {
            self.unread = self.unread.saturating_sub(extent.len());
        }
    }

    /// Drops extents that were read in part, the least recently used first, until an eighth of the limit is free.
    fn shrink(&mut self) {
        let mut old: Vec<Arc<Extent>> = self.extents.values().flat_map(BTreeMap::values).cloned().collect();
        old.retain(|extent| extent.read.load(Relaxed) > 0 && !extent.is_coming());
        old.sort_unstable_by_key(|extent| extent.used.load(Relaxed));
        let goal = self.limit - self.limit / 8;
        for extent in old {
            if self.held <= goal {
                break;
            }
            self.remove(&extent);
        }
    }

    /// Drops what was announced, whether or not it was read. A request that is on its way ends for nobody: kept, its bytes would take the room
    /// of those that somebody wants.
    pub(super) fn forget(&mut self) {
        self.ahead.clear();
        self.steps.clear();
        let all: Vec<Arc<Extent>> = self.extents.values().flat_map(BTreeMap::values).cloned().collect();
        let queued: Vec<*const Extent> = self.urgent.iter().map(Arc::as_ptr).collect();
        for extent in all {
            let wanted = queued.contains(&Arc::as_ptr(&extent));
            let announced = extent.read.load(Relaxed) == 0 || extent.step.load(Relaxed) != NO_STEP;
            if announced && !wanted {
                self.remove(&extent);
            }
        }
    }
}
