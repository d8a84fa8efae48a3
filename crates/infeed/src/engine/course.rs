//! The steps of one rank over endless epochs: which rows each step has.

use super::Plan;
use crate::order::{Share, Steps, World};
use infeed_core::{Cursor, Order};
use std::{ops::Range, sync::Arc};

/// The steps of one rank, counted from its start. Pure arithmetic: any step can be computed at any time.
#[derive(Debug, Clone)]
pub(super) struct Course {
    order: Arc<dyn Order>,
    start: Cursor,
    /// The rest of the first epoch.
    first: Steps,
    /// Every epoch after it.
    whole: Steps,
}

/// What one rank does in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) epoch: u64,
    /// The places of all ranks together.
    pub(super) global: Range<u64>,
    /// This rank's rows.
    pub(super) rows: Vec<u64>,
    /// How many of them, at the end, are repeated rows that pad the batch.
    pub(super) pads: usize,
    /// The consumer's cursor after the step.
    pub(super) after: Cursor,
    /// Whether this is the last step of its epoch.
    pub(super) ends_epoch: bool,
}

impl Course {
    pub(super) fn new(plan: &Plan, world: &World, start: Cursor) -> Self {
        Course {
            order: Arc::clone(&plan.order),
            start,
            first: plan.steps(world, start.place),
            whole: plan.steps(world, 0),
        }
    }

    /// Steps until the end of the first epoch.
    pub(super) fn left_in_epoch(&self) -> u64 {
        self.first.count()
    }

    /// Returns the epoch of a step, that epoch's steps and the step's number among them.
    fn find(&self, number: u64) -> (u64, &Steps, u64) {
        match number.checked_sub(self.first.count()) {
            None => (self.start.epoch, &self.first, number),
            Some(after) => {
                let each = self.whole.count().max(1);
                (self.start.epoch + 1 + after / each, &self.whole, after % each)
            }
        }
    }

    /// Returns the epoch of a step.
    pub(super) fn epoch(&self, number: u64) -> u64 {
        self.find(number).0
    }

    /// Returns the consumer's cursor after it has received `steps` steps.
    pub(super) fn after(&self, steps: u64) -> Cursor {
        match steps.checked_sub(1) {
            None => self.start,
            Some(last) => {
                let (epoch, steps, step) = self.find(last);
                let end =
                    if step + 1 == steps.count() { steps.places } else { steps.global_places(step).end };
                Cursor { epoch, place: end }
            }
        }
    }

    /// Computes a step.
    pub(super) fn step(&self, number: u64) -> Step {
        let (epoch, steps, step) = self.find(number);
        let share: Share = steps.share(step);
        let mut rows = share.list(self.order.places());
        self.order.resolve(epoch, &mut rows);
        let pads = (share.pads.end - share.pads.start) as usize;
        let (global, ends_epoch) = (steps.global_places(step), step + 1 == steps.count());
        let after = Cursor { epoch, place: if ends_epoch { steps.places } else { global.end } };
        Step { epoch, global, rows, pads, after, ends_epoch }
    }
}
