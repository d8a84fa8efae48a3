//! What takes effect when a batch is received.

use super::{Plan, checkpoint::Position, home::Home};
use crate::{
    batch::Batch,
    order::{Delivery, Last, Why, World},
};
use infeed_core::{Error, Hold};
use std::ops::Range;

/// What happened to a batch's samples after it was taken, where functions of the consumer worked on them.
#[derive(Debug, Default)]
pub struct Changes {
    /// Rows that a filter dropped.
    pub filtered: Vec<u64>,
    /// Rows that failed, and why.
    pub bad: Vec<(u64, Error)>,
}

/// A batch that was taken: the consumer's position after it, and its ledger entry.
#[derive(Debug)]
pub(super) struct Receipt {
    at: Position,
    epoch: u64,
    places: Range<u64>,
    global: u64,
    last: Last,
    rank: u64,
    size: u64,
    rows: Vec<u64>,
    pads: usize,
    stand_ins: Vec<u64>,
    left_out: Vec<(u64, Why)>,
}

impl Receipt {
    /// For a batch that holds this rank's share of the places of an epoch.
    pub(super) fn new(
        at: Position,
        plan: &Plan,
        world: &World,
        (epoch, places): (u64, Range<u64>),
        batch: &Batch,
    ) -> Self {
        Receipt {
            at,
            epoch,
            places,
            global: plan.batch.global(world.size),
            last: plan.last,
            rank: world.rank,
            size: world.size,
            rows: batch.rows.clone(),
            pads: batch.pads,
            stand_ins: batch.stand_ins(),
            left_out: batch.left_out.clone(),
        }
    }

    /// Records that the consumer has the batch. Returns the epoch of its rows.
    pub(super) fn settle(mut self, home: &Home, changes: &Changes) -> u64 {
        self.leave_out(&changes.filtered, Why::Filtered);
        self.leave_out(&changes.bad.iter().map(|(row, _)| *row).collect::<Vec<_>>(), Why::Bad);
        home.stand(self.at);
        home.ledger.hold().count(&Delivery {
            epoch: self.epoch,
            from: self.places.start,
            to: self.places.end,
            global: self.global,
            last: self.last,
            rank: self.rank,
            size: self.size,
            rows: &self.rows,
            pads: self.pads,
            stand_ins: &self.stand_ins,
            left_out: &self.left_out,
        });
        self.epoch
    }

    fn leave_out(&mut self, rows: &[u64], why: Why) {
        for row in rows {
            let Some(at) = self.rows.iter().position(|r| r == row) else { continue };
            if at >= self.rows.len() - self.pads {
                self.pads -= 1;
            } else {
                self.left_out.push((*row, why));
            }
            self.rows.remove(at);
            self.stand_ins.retain(|stand_in| stand_in != row);
        }
    }
}
