//! The segments of a ledger: what they count and how they are stored.

use super::{RowHash, packed};
use crate::{Last, Steps};
use serde::{Deserialize, Serialize};

/// Up to this many left-out rows per segment are listed by number; the rest are only counted.
pub const NAMED: usize = 10_000;

/// Why a promised row was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It could not be made, including when another row was delivered in its place.
    Bad,
    /// A filter rejected it.
    Filtered,
}

/// One batch as delivered to the consumer.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// Epoch.
    pub epoch: u64,
    /// Where the step begins, over all ranks.
    pub from: u64,
    /// Where it ends, over all ranks.
    pub to: u64,
    /// Places per step, over all ranks.
    pub global: u64,
    /// How the end of the epoch is treated.
    pub last: Last,
    /// Rank.
    pub rank: u64,
    /// Number of ranks.
    pub size: u64,
    /// The rows in the batch, in batch order.
    pub rows: &'a [u64],
    /// How many rows at the end of `rows` are repeats used as padding.
    pub pads: usize,
    /// Rows among `rows`, before the padding, that replace bad ones: delivered, but not chosen by the order.
    pub stand_ins: &'a [u64],
    /// Rows that the order promised here but that are not in the batch. Padding is not promised.
    pub left_out: &'a [(u64, Why)],
}

/// Promised rows that were not delivered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// How many could not be made.
    pub bad: u64,
    /// How many were filtered.
    pub filtered: u64,
    /// Fingerprint of all of them, including those not listed.
    pub hash: RowHash,
    /// The first of them, listed by number.
    #[serde(default)]
    pub rows: Vec<(u64, Why)>,
}

impl LeftOut {
    /// Returns the total number of left-out rows.
    pub fn count(&self) -> u64 {
        self.bad.saturating_add(self.filtered)
    }

    /// Returns whether no row was left out.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// A run of consecutive steps of one rank: what it delivered of the places `from..to`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Epoch.
    pub epoch: u64,
    /// Where the first step begins, over all ranks.
    pub from: u64,
    /// Where the last step ends, over all ranks.
    pub to: u64,
    /// Places per step, over all ranks.
    pub global: u64,
    /// How the end of the epoch is treated.
    pub last: Last,
    /// Rank.
    pub rank: u64,
    /// Number of ranks.
    pub size: u64,
    /// Number of steps.
    pub steps: u64,
    /// Number of promised rows that were delivered.
    pub rows: u64,
    /// Their fingerprint.
    pub hash: RowHash,
    /// Number of repeats delivered as padding.
    #[serde(default)]
    pub pads: u64,
    /// Number of rows delivered in place of bad ones.
    #[serde(default)]
    pub stand_ins: u64,
    /// Promised rows that were not delivered.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
    /// The promised rows that were delivered, if rows are stored.
    #[serde(default, with = "packed", skip_serializing_if = "Option::is_none")]
    pub given: Option<Vec<u64>>,
}

impl Segment {
    /// Creates an empty segment that begins with this delivery.
    pub(super) fn begin(d: &Delivery<'_>, keep: bool) -> Self {
        Segment {
            epoch: d.epoch,
            from: d.from,
            to: d.from,
            global: d.global,
            last: d.last,
            rank: d.rank,
            size: d.size,
            steps: 0,
            rows: 0,
            hash: RowHash::default(),
            pads: 0,
            stand_ins: 0,
            left_out: LeftOut::default(),
            given: keep.then(Vec::new),
        }
    }

    /// Returns whether a delivery is the next step of the same run.
    pub(super) fn goes_on_with(&self, d: &Delivery<'_>) -> bool {
        self.to == d.from
            && (self.epoch, self.global, self.last, self.rank, self.size)
                == (d.epoch, d.global, d.last, d.rank, d.size)
    }

    /// Counts the next step.
    pub(super) fn count(&mut self, d: &Delivery<'_>) {
        let rows = &d.rows[..d.rows.len().saturating_sub(d.pads)];
        self.to = d.to;
        self.steps += 1;
        self.rows += rows.len().saturating_sub(d.stand_ins.len()) as u64;
        self.pads += (d.rows.len() - rows.len()) as u64;
        self.stand_ins += d.stand_ins.len() as u64;
        self.hash = self.hash.plus(RowHash::of(rows)).minus(RowHash::of(d.stand_ins));
        for &(row, why) in d.left_out {
            match why {
                Why::Bad => self.left_out.bad += 1,
                Why::Filtered => self.left_out.filtered += 1,
            }
            self.left_out.hash = self.left_out.hash.plus(RowHash::of(&[row]));
            if self.left_out.rows.len() < NAMED {
                self.left_out.rows.push((row, why));
            }
        }
        if let Some(given) = &mut self.given {
            let mut others = d.stand_ins.to_vec();
            given.extend(rows.iter().filter(|row| {
                let stands_in = others.iter().position(|other| other == *row);
                stands_in.map(|at| others.swap_remove(at)).is_none()
            }));
        }
    }

    /// Returns the steps of this rank from the start of the segment.
    pub fn cut(&self, places: u64) -> Steps {
        let Segment { from, global, last, rank, size, .. } = *self;
        Steps { places, from, global, last, rank, size }
    }

    /// Checks whether the segment can belong to an epoch of this length, and says why not.
    pub(super) fn fits(&self, places: u64) -> Result<(), String> {
        let Segment { from, to, global, rank, size, .. } = *self;
        if global == 0 || rank >= size || from >= to {
            return Err("its numbers are inconsistent".to_owned());
        }
        if to > places {
            return Err(format!("the epoch has only {places} places"));
        }
        let whole = (to - from).is_multiple_of(global);
        if !whole && (to != places || self.last == Last::Drop) {
            return Err(format!("these are no whole steps of {global} places"));
        }
        if self.steps != (to - from).div_ceil(global) {
            return Err(format!("it counts {} steps of {global} places", self.steps));
        }
        Ok(())
    }
}
