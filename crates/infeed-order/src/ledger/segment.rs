//! What is counted, and how it is kept.

use super::{RowHash, packed};
use crate::{Last, Steps};
use serde::{Deserialize, Serialize};

/// Rows that were left out are kept by name up to this many per segment, and counted beyond.
pub const NAMED: usize = 10_000;

/// Why a promised row was not handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It could not be made; also when another row was handed out in its stead.
    Bad,
    /// A filter refused it.
    Filtered,
}

/// One batch as it was handed to the consumer.
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
    /// What becomes of the end of the epoch.
    pub last: Last,
    /// Rank.
    pub rank: u64,
    /// Number of ranks.
    pub size: u64,
    /// The rows in the batch, in its order.
    pub rows: &'a [u64],
    /// How many rows at the end of `rows` are repeats that fill up.
    pub pads: usize,
    /// Rows among `rows`, before the repeats, that stand in for bad ones: handed out, but not because of the order.
    pub stand_ins: &'a [u64],
    /// Rows that the order promised here and that are not in the batch. Repeats are not promised.
    pub left_out: &'a [(u64, Why)],
}

/// Promised rows that were not handed out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// How many could not be made.
    pub bad: u64,
    /// How many were filtered.
    pub filtered: u64,
    /// Fingerprint of all of them, also of those that are not named.
    pub hash: RowHash,
    /// The first of them.
    #[serde(default)]
    pub rows: Vec<(u64, Why)>,
}

impl LeftOut {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.bad.saturating_add(self.filtered)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// A run of consecutive steps of one rank: what it gave of the places `from..to`.
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
    /// What becomes of the end of the epoch.
    pub last: Last,
    /// Rank.
    pub rank: u64,
    /// Number of ranks.
    pub size: u64,
    /// Steps.
    pub steps: u64,
    /// Promised rows that were handed out.
    pub rows: u64,
    /// Their fingerprint.
    pub hash: RowHash,
    /// Repeats that were handed out to fill up.
    #[serde(default)]
    pub pads: u64,
    /// Rows that were handed out in the stead of bad ones.
    #[serde(default)]
    pub stand_ins: u64,
    /// Promised rows that were not handed out.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
    /// The promised rows that were handed out, where they are kept.
    #[serde(default, with = "packed", skip_serializing_if = "Option::is_none")]
    pub given: Option<Vec<u64>>,
}

impl Segment {
    /// A segment that begins with this delivery and has counted nothing yet.
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

    /// Whether a delivery is the next step of the same run.
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

    /// How the epoch was cut, for this rank and from here on.
    pub fn cut(&self, places: u64) -> Steps {
        let Segment { from, global, last, rank, size, .. } = *self;
        Steps { places, from, global, last, rank, size }
    }

    /// Whether it can have come from an epoch of this length; says why not.
    pub(super) fn fits(&self, places: u64) -> Result<(), String> {
        let Segment { from, to, global, rank, size, .. } = *self;
        if global == 0 || rank >= size || from >= to {
            return Err("it makes no sense".to_owned());
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
