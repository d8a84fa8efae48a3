//! Class balancing: every class equally often, however many rows it has.

use super::check_count;
use crate::{Below, Permutation, recent::Recent, shuffle::shuffle};
use infeed_core::{Error, Hold, Order, Result, Rng};
use serde::{Deserialize, Serialize};
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

/// Random streams: the turns of the classes, and the keys of their passes.
const TURNS: u64 = 0x0062_7475_726e;
const PASSES: u64 = 0x0062_7061_7373;

/// Turns are computed for about this many places at once, so that with few classes a lock is
/// not taken every few places.
const TURNS_AT_ONCE: u64 = 1024;
/// Number of runs of turns that are cached.
const KEPT: usize = 4;

/// How classes of different sizes are balanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// An epoch reads the largest class once; smaller ones repeat in a new order when they are exhausted.
    #[default]
    Over,
    /// An epoch reads the smallest class once; the remaining rows of the others come in later epochs.
    Under,
}

/// Classes take turns: every aligned run of as many places as there are classes has each class once, in an order that
/// changes from run to run.
///
/// Each class is read in passes, each in a different order, and continues across epochs where it stopped, so every
/// row is used. Takes 4 bytes per row, plus up to 8 bytes per row for the current passes (none for classes of more
/// than 65,536 rows) and about 300 bytes per class.
#[derive(Debug)]
pub struct Balanced {
    below: Below,
    mode: Balance,
    seed: u64,
    /// Places of the underlying order, class by class.
    rows: Vec<u32>,
    /// Where each class begins in `rows`, followed by the end.
    starts: Vec<u32>,
    /// Number of rounds of turns in an epoch.
    rounds: u64,
    turns: Recent<(u64, u64), Vec<u32>>,
    /// Two passes per class, by the parity of their number, because the end of one and the start of the next are
    /// often in use together. Locked once per batch.
    passes: Mutex<Vec<[Option<Box<Pass>>; 2]>>,
}

#[derive(Debug)]
struct Pass {
    number: u64,
    permutation: Permutation,
}

impl Balanced {
    /// Balances an order, with one label per place of the underlying order. Labels can be any numbers.
    pub fn new(below: Below, labels: &[i64], mode: Balance, seed: u64) -> Result<Self> {
        check_count("balanced", "labels", labels.len(), below.places())?;
        if labels.is_empty() {
            return Err(Error::plan("balance", "there are no rows to balance"));
        }
        let mut rows: Vec<u32> = (0..labels.len() as u32).collect();
        rows.sort_by_key(|row| labels[*row as usize]);
        let mut starts = vec![0];
        for class in rows.chunk_by(|a, b| labels[*a as usize] == labels[*b as usize]) {
            starts.push(starts.last().copied().unwrap_or(0) + class.len() as u32);
        }
        let lengths = starts.windows(2).map(|pair| u64::from(pair[1] - pair[0]));
        let rounds = match mode {
            Balance::Over => lengths.max(),
            Balance::Under => lengths.min(),
        };
        let passes = (1..starts.len()).map(|_| [None, None]).collect();
        Ok(Balanced {
            below,
            mode,
            seed,
            rows,
            starts,
            rounds: rounds.unwrap_or(0),
            turns: Recent::new(KEPT),
            passes: Mutex::new(passes),
        })
    }

    fn classes(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Returns the classes at the places around one, for some whole rounds.
    fn turns(&self, epoch: u64, place: u64) -> (Range<u64>, Arc<Vec<u32>>) {
        let classes = self.classes();
        let rounds = (TURNS_AT_ONCE / classes).max(1);
        let run = place / (rounds * classes);
        let turns = self.turns.get((epoch, run), || {
            let mut turns = Vec::with_capacity((rounds * classes) as usize);
            for round in run * rounds..((run + 1) * rounds).min(self.rounds) {
                let from = turns.len();
                turns.extend(0..classes as u32);
                shuffle(&mut turns[from..], &mut Rng::at(self.seed, epoch, round, TURNS));
            }
            turns
        });
        let start = run * rounds * classes;
        (start..start + turns.len() as u64, turns)
    }

    /// Returns the row of the `count`-th turn of a class, counted over all epochs.
    fn row(&self, passes: &mut [[Option<Box<Pass>>; 2]], class: usize, count: u64) -> u32 {
        let start = self.starts[class];
        let length = u64::from(self.starts[class + 1] - start);
        if length == 1 {
            // Nothing to permute, and a million such classes would each store it twice.
            return self.rows[start as usize];
        }
        let (number, at) = (count / length, count % length);
        let kept = &mut passes[class][(number % 2) as usize];
        let pass = match kept {
            Some(pass) if pass.number == number => pass,
            _ => {
                let key = Rng::at(self.seed, number, class as u64, PASSES).next_u64();
                kept.insert(Box::new(Pass { number, permutation: Permutation::new(length, key, number) }))
            }
        };
        self.rows[start as usize + pass.permutation.at(at) as usize]
    }
}

impl Order for Balanced {
    fn places(&self) -> u64 {
        self.classes() * self.rounds
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let Some(first) = places.first().copied() else { return };
        let last = self.places() - 1;
        let classes = self.classes();
        // Wraps, rather than panics, after an unrealistic number of epochs.
        let before = epoch.wrapping_mul(self.rounds);
        let (mut run, mut turns) = self.turns(epoch, first.min(last));
        let mut passes = self.passes.hold();
        for place in places.iter_mut() {
            let at = (*place).min(last);
            if !run.contains(&at) {
                (run, turns) = self.turns(epoch, at);
            }
            let class = turns[(at - run.start) as usize];
            let count = before.wrapping_add(at / classes);
            *place = u64::from(self.row(&mut passes, class as usize, count));
        }
        drop(passes);
        self.below.resolve(epoch, places);
    }

    fn describe(&self) -> String {
        let mode = match self.mode {
            Balance::Over => "the largest",
            Balance::Under => "the smallest",
        };
        format!(
            "{}, {} classes in turn, as long as {mode} (seed {})",
            self.below.describe(),
            self.classes(),
            self.seed
        )
    }
}
