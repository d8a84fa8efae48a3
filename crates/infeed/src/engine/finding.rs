//! Finds the samples of rows that were kept.

use super::{Plan, plan::Kept, reader::guarded, threads::Shared};
use crate::trace::{CacheUse, Trace};
use infeed_core::Bytes;
use std::{
    borrow::Cow,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// What a look for a sample found.
pub(super) enum Lookup {
    Found(Bytes),
    /// Nothing. The number under which it is to be kept once it is made, if it can be.
    Missing(Option<u128>),
}

impl Plan {
    /// Whether samples of some rows are kept.
    pub(super) fn keeps(&self) -> bool {
        self.branches.iter().any(|branch| branch.kept.is_some())
    }

    /// Returns the numbers of rows under which their samples are kept, and which of them are there.
    fn look(&self, rows: &[u64]) -> Vec<Option<(&Kept, u128, bool)>> {
        // A source that fails here fails again, with a name, when the row is read.
        let stamps =
            guarded(|| Ok(self.source.stamps(rows, &self.fields))).ok().flatten().unwrap_or_default();
        let mut out: Vec<Option<(&Kept, u128, bool)>> = vec![None; rows.len()];
        for branch in &self.branches {
            let Some(kept) = &branch.kept else { continue };
            let own = |place: &usize| std::ptr::eq(self.branch(rows[*place]), branch);
            let places: Vec<usize> = (0..stamps.len().min(rows.len())).filter(own).collect();
            let wanted: Vec<Option<u128>> = places.iter().map(|place| stamps[*place]).collect();
            for ((place, there), stamp) in places.iter().zip(kept.shelf.has(&wanted)).zip(wanted.iter()) {
                out[*place] = stamp.map(|stamp| (kept, stamp, there));
            }
        }
        out
    }

    /// Returns the rows whose samples have to be made.
    pub(super) fn not_kept<'a>(&self, rows: &'a [u64]) -> Cow<'a, [u64]> {
        if !self.keeps() {
            return Cow::Borrowed(rows);
        }
        let found = self.look(rows);
        let missing = rows.iter().zip(found).filter(|(_, found)| !found.is_some_and(|(_, _, there)| there));
        Cow::Owned(missing.map(|(row, _)| *row).collect())
    }
}

impl Plan {
    /// What the caches of samples hold, one entry for memory and one for disk, as far as there are any.
    pub(in crate::engine) fn cache_uses(&self, trace: &Trace) -> Vec<CacheUse> {
        let mut uses: Vec<CacheUse> = Vec::new();
        for (at, (tier, counted)) in ["memory", "disk"].into_iter().zip(&trace.sample_caches).enumerate() {
            let kept = self.branches.iter().filter_map(|branch| branch.kept.as_ref());
            let mut shelves =
                kept.map(|kept| &kept.shelf).filter(|shelf| usize::from(!shelf.in_memory()) == at).peekable();
            if shelves.peek().is_none() {
                continue;
            }
            let mut one = CacheUse::new(tier, counted);
            for shelf in shelves {
                let stats = shelf.stats();
                one.samples += stats.samples;
                one.bytes += stats.bytes;
                one.damaged += stats.damaged;
                one.limit = stats.limit;
                one.warning = one.warning.or_else(|| shelf.warning().map(str::to_owned));
            }
            uses.push(one);
        }
        uses
    }
}

/// Looks for the samples of rows; `None` if the plan keeps none.
pub(super) fn find_kept(shared: &Shared, rows: &[u64]) -> Option<Vec<Lookup>> {
    let plan: &Arc<Plan> = &shared.plan;
    if !plan.keeps() {
        return None;
    }
    let one = |(place, found): (usize, Option<(&Kept, u128, bool)>)| {
        let Some(kept) = &plan.branch(rows[place]).kept else { return Lookup::Missing(None) };
        let uses = &shared.trace.sample_caches[usize::from(!kept.shelf.in_memory())];
        if let Some(bytes) =
            found.and_then(|(kept, stamp, there)| there.then(|| kept.shelf.get(stamp)).flatten())
        {
            uses.hits.fetch_add(1, Relaxed);
            return Lookup::Found(bytes);
        }
        uses.misses.fetch_add(1, Relaxed);
        let wanted = found.filter(|(kept, ..)| kept.shelf.wants_more());
        Lookup::Missing(wanted.map(|(_, stamp, _)| stamp))
    };
    Some(plan.look(rows).into_iter().enumerate().map(one).collect())
}
