//! Computes which places the segments cover, without listing places.
//!
//! Within a step, consecutive ranks have adjacent shares. So a run of ranks is one interval per step, and all ranks
//! of a world form one interval from their first step to their last. The usual case is therefore cheap for any number
//! of steps. Steps are examined individually only where ranks are missing, and then lazily.

use super::{Absent, Segment};
use crate::Steps;
use std::{collections::BTreeMap, ops::Range};

/// What the segments cover.
pub(super) struct Cover {
    /// Each yields ascending, disjoint intervals; those of different bands may overlap.
    pub(super) bands: Vec<Band>,
    /// Ranks that delivered nothing where others of the same world did.
    pub(super) absent: Vec<Absent>,
}

/// A run of consecutive ranks of a world over a range of steps.
#[derive(Debug, Clone)]
pub(super) struct Band {
    low: Steps,
    high: Steps,
    steps: Range<u64>,
    /// Set if the band has all ranks.
    whole: Option<Range<u64>>,
}

impl Iterator for Band {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        if let Some(whole) = self.whole.take() {
            return Some(whole);
        }
        loop {
            let step = self.steps.next()?;
            let places = self.low.share(step).places.start..self.high.share(step).places.end;
            if !places.is_empty() {
                return Some(places);
            }
        }
    }
}

/// Computes the cover. The segments must fit an epoch of this length.
pub(super) fn cover<'a>(segments: impl IntoIterator<Item = &'a Segment>, places: u64) -> Cover {
    // The steps of a family lie on one grid, so its segments meet only at step boundaries.
    let mut families: BTreeMap<(u64, u64, u64, u8), Vec<&Segment>> = BTreeMap::new();
    for s in segments {
        families.entry((s.global, s.from % s.global, s.size, s.last as u8)).or_default().push(s);
    }
    let mut out = Cover { bands: vec![], absent: vec![] };
    for family in families.values() {
        let mut cuts: Vec<u64> = family.iter().flat_map(|s| [s.from, s.to]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        for pair in cuts.windows(2) {
            let here = pair[0]..pair[1];
            let present = family.iter().filter(|s| s.from <= here.start && s.to >= here.end);
            let mut ranks: Vec<u64> = present.map(|s| s.rank).collect();
            ranks.sort_unstable();
            slab(family[0].cut(places), here, ranks, &mut out);
        }
    }
    out
}

/// Adds the bands of a stretch of steps in which the set of ranks is constant. Ranks may occur several times.
fn slab(cut: Steps, here: Range<u64>, mut ranks: Vec<u64>, out: &mut Cover) {
    let mut first = true;
    while !ranks.is_empty() {
        // Each layer has every rank at most once; duplicates go into the next layer.
        let (mut layer, mut left): (Vec<u64>, Vec<u64>) = (vec![], vec![]);
        for rank in ranks {
            if layer.last() == Some(&rank) { left.push(rank) } else { layer.push(rank) }
        }
        ranks = left;
        let mut next = 0;
        for run in runs(&layer) {
            if first && run.start > next {
                out.absent.push(Absent { ranks: next..run.start, size: cut.size, places: here.clone() });
            }
            next = run.end;
            let at = |rank| Steps { from: here.start, rank, ..cut };
            let steps = 0..(here.end - here.start).div_ceil(cut.global);
            let whole = (run == (0..cut.size)).then(|| here.clone());
            let steps = if whole.is_some() { 0..0 } else { steps };
            out.bands.push(Band { low: at(run.start), high: at(run.end - 1), steps, whole });
        }
        if first && next < cut.size {
            out.absent.push(Absent { ranks: next..cut.size, size: cut.size, places: here.clone() });
        }
        first = false;
    }
}

/// Groups ascending numbers into ranges of consecutive ones.
fn runs(ranks: &[u64]) -> Vec<Range<u64>> {
    let mut out: Vec<Range<u64>> = vec![];
    for &rank in ranks {
        match out.last_mut() {
            Some(run) if run.end == rank => run.end += 1,
            _ => out.push(rank..rank + 1),
        }
    }
    out
}
