//! Announces the rows of future batches to sources whose data is far away.
//!
//! The order is known, so a store can fetch what is needed in some seconds while other rows are worked on. Whoever plans a batch
//! announces further ones as well, as long as the store takes announcements: its memory is the limit, not a number of batches.

use super::{Plan, feed::Feed, future::Future, reader::guarded, threads::Shared};
use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// The first batches are announced row by row: a whole window of blocks would have to come before the first of them is done.
const ROW_BY_ROW: u64 = 2;
/// Batches that are looked at in one go; the thread has other work, too.
const AT_ONCE: u64 = 256;
/// How far ahead batches are looked at, in rows: a window of small rows has very many, and they need not all be known.
const FARTHEST: u64 = 1 << 20;

/// Where the announcements are.
#[derive(Debug)]
pub(super) struct Scout {
    /// Whether the data is far away at all.
    active: bool,
    /// Whether the order reads block after block.
    blocks: bool,
    next: Mutex<u64>,
    /// Tells stores that several runs read from whose announcements these are.
    run: u64,
    /// What caches are told, if there are any.
    future: Option<Future>,
}

impl Scout {
    pub(super) fn new(plan: &Plan) -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let active = plan.source.room_ahead().is_some();
        let blocks = active && plan.order.blocks().is_some();
        let run = RUNS.fetch_add(1, Relaxed);
        Scout { active, blocks, next: Mutex::new(0), run, future: Future::new(plan) }
    }

    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Announces batches from `planned` on, below `limit`. All before `done` were read.
    pub(super) fn look_ahead(&self, shared: &Shared, planned: u64, limit: u64, done: u64) {
        let (Feed::Rows(course), source) = (&shared.feed, &shared.plan.source) else { return };
        // One thread is enough.
        let Ok(mut next) = self.next.try_lock() else { return };
        *next = (*next).max(planned);
        if let Some(future) = &self.future {
            future.count_on(&shared.plan, course.epoch(planned));
        }
        let end = limit.min(*next + AT_ONCE);
        while *next < end && source.room_ahead().is_some_and(|room| room > 0) {
            let step = course.step(*next);
            if (*next - planned).saturating_mul(step.rows.len() as u64) > FARTHEST {
                break;
            }
            // A hint: what goes wrong here goes wrong again, and is reported, when the rows are read.
            let _ = guarded(|| {
                source.ahead_for(self.run, *next, done);
                let rows = shared.plan.not_kept(&step.rows);
                if self.blocks && *next >= ROW_BY_ROW {
                    source.will_fetch_blocks(&rows, &shared.plan.fields);
                } else {
                    source.will_fetch(&rows, &shared.plan.fields);
                }
                Ok(())
            });
            *next += 1;
        }
    }

    /// Nobody will read what was announced.
    pub(super) fn end(&self, plan: &Plan) {
        if self.active {
            plan.source.forget_ahead();
        }
    }
}
