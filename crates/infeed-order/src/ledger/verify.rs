//! Combines the ledgers of an epoch and checks them against the order.

use super::{
    Absent, Double, Giver, Ledger, Places, Segment, Verdict, check::Checker, cover::cover, sweep::sweep,
};
use crate::Last;
use infeed_core::{Error, Order, Result};
use std::{borrow::Cow, ops::Range};

/// How many findings are stored: see [`Verdict`].
const RANGES: usize = 10_000;
pub(super) const ROWS: usize = 1_000;
const DOUBLES: usize = 100;
const GIVERS: usize = 16;
const ABSENT: usize = 1_000;

/// What must have been delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Promise {
    /// The whole epoch. If the end is dropped, up to the end of the last full step, as far as the ledgers show it: a
    /// run that drops everything left takes no step and leaves no trace.
    #[default]
    Whole,
    /// The places before this one: an epoch in progress.
    Until(u64),
}

/// A segment with the name of its ledger.
pub(super) struct NamedSegment<'a> {
    pub(super) segment: &'a Segment,
    ledger: Cow<'a, str>,
}

impl NamedSegment<'_> {
    pub(super) fn giver(&self) -> Giver {
        let s = self.segment;
        Giver { ledger: self.ledger.to_string(), rank: s.rank, size: s.size, places: s.from..s.to }
    }
}

/// Checks whether the ledgers together delivered what was promised. Fails if they do not belong together or to this
/// order. Rows that were not delivered as promised are not an error but part of the verdict.
///
/// Time grows with the number of places, because the order is recomputed; memory does not.
pub fn verify(ledgers: &[Ledger], epoch: u64, order: &dyn Order, promise: Promise) -> Result<Verdict> {
    belong_together(ledgers)?;
    let places = order.places();
    let parts = parts(ledgers, epoch, places)?;
    let whole = end(&parts, places);
    let end = match promise {
        Promise::Whole => whole,
        Promise::Until(place) => place.min(whole),
    };
    let mut verdict = Verdict::of(&parts, epoch, end);
    verdict.dropped = if promise == Promise::Whole { places - whole } else { 0 };
    let cover = cover(parts.iter().map(|p| p.segment), places);
    sweep(cover.bands, end, |found, times| match times {
        0 => verdict.missing.take(found),
        1 => {}
        _ => {
            if verdict.doubles.len() < DOUBLES {
                let by = givers(&parts, &found, places);
                verdict.doubles.push(Double { places: found.clone(), times: times as u64, by });
            }
            verdict.double.take(found);
        }
    });
    verdict.missing.name(order, epoch);
    verdict.double.name(order, epoch);
    verdict.absent = needed(cover.absent, &verdict.missing.ranges);
    let mut checker = Checker::new(order, epoch);
    verdict.wrong = parts.iter().filter_map(|part| checker.check(part)).collect();
    verdict.repeated = checker.repeated();
    Ok(verdict)
}

/// Fails if two ledgers differ, naming the difference.
fn belong_together(ledgers: &[Ledger]) -> Result<()> {
    // Compares all pairs: with unknown fields, agreement is not transitive.
    for (n, one) in ledgers.iter().enumerate() {
        for (m, other) in ledgers.iter().enumerate().take(n) {
            if let Some(what) = other.recipe().differs(one.recipe()) {
                let (a, b) = (name(other, m), name(one, n));
                return Err(Error::argument(format!("{a} and {b} do not belong together: {what}")));
            }
        }
    }
    Ok(())
}

fn name(ledger: &Ledger, number: usize) -> Cow<'_, str> {
    match ledger.name() {
        "" => format!("ledger {}", number + 1).into(),
        name => name.into(),
    }
}

fn parts(ledgers: &[Ledger], epoch: u64, places: u64) -> Result<Vec<NamedSegment<'_>>> {
    let mut parts = vec![];
    for (n, ledger) in ledgers.iter().enumerate() {
        for segment in ledger.segments().iter().filter(|s| s.epoch == epoch) {
            let Segment { from, to, rank, size, .. } = segment;
            segment.fits(places).map_err(|why| {
                let name = name(ledger, n);
                Error::argument(format!(
                    "{name}: places {from}..{to} of rank {rank} of {size} cannot be of epoch {epoch}: {why}"
                ))
            })?;
            parts.push(NamedSegment { segment, ledger: name(ledger, n) });
        }
    }
    parts.sort_by_key(|p| (p.segment.from, p.segment.rank));
    Ok(parts)
}

/// Returns where the promise ends. If the last steps drop what is left, that is where no further full step fits.
fn end(parts: &[NamedSegment<'_>], places: u64) -> u64 {
    let Some(reached) = parts.iter().map(|p| p.segment.to).max() else { return places };
    let mut end = 0;
    for part in parts.iter().filter(|p| p.segment.to == reached) {
        let left = places - reached;
        end = match part.segment.last {
            Last::Drop => end.max(places - left % part.segment.global),
            Last::Short | Last::Pad => places,
        };
    }
    end
}

/// Returns the segments that delivered some of these places.
fn givers(parts: &[NamedSegment<'_>], found: &Range<u64>, places: u64) -> Vec<Giver> {
    let gave = |part: &&NamedSegment<'_>| {
        let s = part.segment;
        let both = s.from.max(found.start)..s.to.min(found.end);
        if both.is_empty() {
            return false;
        }
        // If there is a third step, the second lies wholly in the range: no need to look further.
        let (first, last) = ((both.start - s.from) / s.global, (both.end - 1 - s.from) / s.global);
        [first, first + 1, last].iter().filter(|step| **step <= last).any(|step| {
            let share = s.cut(places).share(*step).places;
            share.start.max(both.start) < share.end.min(both.end)
        })
    };
    parts.iter().filter(gave).take(GIVERS).map(NamedSegment::giver).collect()
}

/// Returns the absent ranks that explain missing places.
fn needed(absent: Vec<Absent>, missing: &[Range<u64>]) -> Vec<Absent> {
    let explains = |a: &Absent| {
        let at = missing.partition_point(|m| m.end <= a.places.start);
        missing.get(at).is_some_and(|m| m.start < a.places.end)
    };
    absent.into_iter().filter(explains).take(ABSENT).collect()
}

impl Places {
    fn take(&mut self, found: Range<u64>) {
        self.count += found.end - found.start;
        if self.ranges.len() < RANGES {
            self.ranges.push(found);
        }
    }

    /// Resolves the first rows.
    fn name(&mut self, order: &dyn Order, epoch: u64) {
        self.rows = self.ranges.iter().cloned().flatten().take(ROWS).collect();
        order.resolve(epoch, &mut self.rows);
    }
}

impl Verdict {
    /// Fills in everything that can be counted.
    fn of(parts: &[NamedSegment<'_>], epoch: u64, places: u64) -> Self {
        // Counts come from files: a damaged one must not cause an overflow.
        let sum = |of: fn(&Segment) -> u64| parts.iter().map(|p| of(p.segment)).fold(0, u64::saturating_add);
        let mut runs: Vec<_> =
            parts.iter().map(|p| p.segment).map(|s| (s.from, s.size, s.global, s.last as u8)).collect();
        runs.dedup();
        let mut worlds: Vec<u64> = runs.iter().map(|run| run.1).collect();
        worlds.dedup();
        runs.sort_unstable();
        runs.dedup();
        Verdict {
            epoch,
            places,
            dropped: 0,
            rows: sum(|s| s.rows),
            pads: sum(|s| s.pads),
            stand_ins: sum(|s| s.stand_ins),
            bad: sum(|s| s.left_out.bad),
            filtered: sum(|s| s.left_out.filtered),
            worlds,
            runs: runs.len() as u64,
            repeated: None,
            missing: Places::default(),
            absent: vec![],
            double: Places::default(),
            doubles: vec![],
            wrong: vec![],
        }
    }
}
