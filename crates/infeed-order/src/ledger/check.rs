//! Checks the fingerprint of a segment against the rows that the order puts at its places.

use super::{
    RowHash, Segment, Wrong,
    verify::{NamedSegment, ROWS},
};
use infeed_core::Order;

/// Number of places resolved at once: enough to amortise the call, few enough to stay in the cache.
const CHUNK: u64 = 4096;

/// Repeats are detected among rows below this number: one bit each, 16 MiB.
const TELLABLE: u64 = 1 << 27;

/// Recomputes the order, segment by segment.
pub(super) struct Checker<'a> {
    order: &'a dyn Order,
    epoch: u64,
    /// One bit for each row seen; `None` if there are too many.
    seen: Option<Vec<u64>>,
    again: u64,
}

impl<'a> Checker<'a> {
    pub(super) fn new(order: &'a dyn Order, epoch: u64) -> Self {
        Checker { order, epoch, seen: Some(vec![]), again: 0 }
    }

    /// Returns how many rows so far were repeats, if known.
    pub(super) fn repeated(&self) -> Option<u64> {
        self.seen.as_ref().map(|_| self.again)
    }

    /// Returns what is wrong with a segment, if anything.
    pub(super) fn check(&mut self, part: &NamedSegment<'_>) -> Option<Wrong> {
        let s = part.segment;
        let (mut hash, mut promised) = (RowHash::default(), 0u64);
        let (order, epoch) = (self.order, self.epoch);
        resolve(order, epoch, s, |rows| {
            hash = hash.plus(RowHash::of(rows));
            promised += rows.len() as u64;
            self.see(rows);
        });
        let what = self.compare(s, hash, promised)?;
        let mut wrong = Wrong { by: part.giver(), what, given: vec![], lacking: vec![] };
        if let Some(given) = &s.given {
            let mut promised = vec![];
            resolve(order, epoch, s, |rows| promised.extend_from_slice(rows));
            let left_out: Vec<u64> = s.left_out.rows.iter().map(|(row, _)| *row).collect();
            let (unpromised, lacking) =
                difference(given.iter().chain(&left_out).copied().collect(), promised);
            wrong.given = unpromised;
            // Unless all left-out rows are named, missing rows cannot be identified.
            if left_out.len() as u64 == s.left_out.count() {
                wrong.lacking = lacking;
            }
        }
        Some(wrong)
    }

    fn compare(&self, s: &Segment, hash: RowHash, promised: u64) -> Option<String> {
        let given = match s.left_out.count() {
            0 => format!("{} rows", s.rows),
            left_out => format!("{} rows (and left {left_out} out)", s.rows),
        };
        if s.rows.checked_add(s.left_out.count()) != Some(promised) {
            return Some(format!("gave {given}, {promised} were promised"));
        }
        if s.hash.plus(s.left_out.hash) != hash {
            return Some(format!("gave {given}, but not those that the order puts there"));
        }
        let kept = s.given.as_ref().is_none_or(|rows| RowHash::of(rows) == s.hash);
        (!kept).then(|| "its list of rows does not agree with its fingerprint".to_owned())
    }

    fn see(&mut self, rows: &[u64]) {
        let Some(seen) = &mut self.seen else { return };
        for &row in rows {
            if row >= TELLABLE {
                self.seen = None;
                return;
            }
            let (word, bit) = ((row / 64) as usize, 1 << (row % 64));
            if word >= seen.len() {
                seen.resize((word + 1).next_power_of_two(), 0);
            }
            self.again += u64::from(seen[word] & bit != 0);
            seen[word] |= bit;
        }
    }
}

/// Calls `found` with the rows of a segment, a chunk at a time.
fn resolve(order: &dyn Order, epoch: u64, segment: &Segment, mut found: impl FnMut(&[u64])) {
    let cut = segment.cut(order.places());
    let mut chunk: Vec<u64> = Vec::with_capacity(CHUNK as usize);
    let mut empty = |chunk: &mut Vec<u64>| {
        order.resolve(epoch, chunk);
        found(chunk);
        chunk.clear();
    };
    for step in 0..segment.steps {
        let mut places = cut.share(step).places;
        while !places.is_empty() {
            let some = places.end.min(places.start + CHUNK - chunk.len() as u64);
            chunk.extend(places.start..some);
            places.start = some;
            if chunk.len() as u64 == CHUNK {
                empty(&mut chunk);
            }
        }
    }
    if !chunk.is_empty() {
        empty(&mut chunk);
    }
}

/// Returns what is only in the first list and what is only in the second, each ascending and truncated.
fn difference(mut a: Vec<u64>, mut b: Vec<u64>) -> (Vec<u64>, Vec<u64>) {
    a.sort_unstable();
    b.sort_unstable();
    let (mut only_a, mut only_b) = (vec![], vec![]);
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x == y => (i, j) = (i + 1, j + 1),
            (Some(x), y) if y.is_none_or(|y| x < y) => {
                only_a.push(*x);
                i += 1;
            }
            (_, y) => {
                only_b.extend(y);
                j += 1;
            }
        }
    }
    only_a.truncate(ROWS);
    only_b.truncate(ROWS);
    (only_a, only_b)
}
