//! Weighted sampling of rows.

use super::check_count;
use crate::{Below, recent::Recent};
use infeed_core::{Error, Order, Result, Rng};

/// Random streams: draws with replacement, and waiting times without.
const DRAWS: u64 = 0x0077_6472_6177;
const WAITS: u64 = 0x0077_7761_6974;

/// Number of lists that are cached: the epoch being read and the one being prefetched.
const EPOCHS: usize = 2;
/// Smaller relative weights are raised to this; such rows come last anyway.
const LIGHTEST: f64 = 1e-300;

/// Draws rows with probability proportional to their weights.
///
/// With replacement, every place is an independent draw from an alias table: 8 bytes per row, no work per epoch.
/// Without replacement, every row comes at most once, heavy ones rather early and light ones rather late (or not at
/// all if `length` shortens the epoch): 8 bytes per row, and a list of 4 bytes per place for each of two epochs.
#[derive(Debug)]
pub struct Weighted {
    below: Below,
    seed: u64,
    length: u64,
    draw: Draw,
}

#[derive(Debug)]
enum Draw {
    Again(Vec<Column>),
    /// Weights relative to the heaviest; 0 for rows that are never drawn.
    Once(Vec<f64>, Recent<u64, Vec<u32>>),
}

/// One column of an alias table: a draw that hits it stays with probability `keep`, otherwise goes to `other`.
#[derive(Debug, Clone, Copy)]
struct Column {
    keep: f32,
    other: u32,
}

impl Weighted {
    /// Draws `length` rows per epoch, with one weight per place of the underlying order. The default length is the
    /// number of rows or, without replacement, the number of rows with a weight above 0.
    pub fn new(
        below: Below,
        weights: &[f64],
        length: Option<u64>,
        replacement: bool,
        seed: u64,
    ) -> Result<Self> {
        check_count("weighted", "weights", weights.len(), below.places())?;
        if let Some(at) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            let what =
                format!("the weight of row {at} is {}; weights are 0 or more, and finite", weights[at]);
            return Err(Error::plan("weighted", what));
        }
        let positive = weights.iter().filter(|w| **w > 0.0).count() as u64;
        if positive == 0 {
            return Err(Error::plan("weighted", "no row has a weight above 0: there is nothing to draw"));
        }
        let length = length.unwrap_or(if replacement { below.places() } else { positive });
        if length == 0 {
            return Err(Error::plan("weighted", "an epoch of 0 draws is empty; take a length of at least 1"));
        }
        if !replacement && length > positive {
            let what = format!(
                "{length} rows cannot be drawn without replacement: {positive} have a weight above 0; \
                 take a smaller length, or replacement=True"
            );
            return Err(Error::plan("weighted", what));
        }
        let draw = if replacement {
            Draw::Again(alias_table(weights))
        } else {
            let heaviest = heaviest(weights).1;
            let relative = |w: &f64| if *w > 0.0 { (w / heaviest).max(LIGHTEST) } else { 0.0 };
            Draw::Once(weights.iter().map(relative).collect(), Recent::new(EPOCHS))
        };
        Ok(Weighted { below, seed, length, draw })
    }

    /// Efraimidis and Spirakis: every row waits an exponential time with its weight as the rate, and rows come in
    /// order of their times. This is the usual key `u^(1/w)` under `-ln`, which does not underflow for tiny weights.
    fn list(&self, weights: &[f64], epoch: u64) -> Vec<u32> {
        // The place replaces the lowest bits of the time: sorting numbers is twice as fast as sorting pairs, and a
        // million rows still leave 44 bits of time.
        let mask = (weights.len() as u64).next_power_of_two() - 1;
        let mut keys: Vec<u64> = (0u64..)
            .zip(weights)
            .filter(|(_, weight)| **weight > 0.0)
            .map(|(place, weight)| {
                let bits = Rng::at(self.seed, epoch, place, WAITS).next_u64() >> 11;
                // Never 0 or 1, so that the logarithm is finite and the time positive.
                let unit = (bits as f64 + 0.5) * (1.0 / (1u64 << 53) as f64);
                let time = -unit.ln() / weight;
                // Times are positive, so their bits sort in the same order.
                (time.to_bits() << 1) & !mask | place
            })
            .collect();
        let length = self.length as usize;
        if length < keys.len() {
            keys.select_nth_unstable(length);
            keys.truncate(length);
        }
        keys.sort_unstable();
        keys.into_iter().map(|key| (key & mask) as u32).collect()
    }
}

impl Order for Weighted {
    fn places(&self) -> u64 {
        self.length
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        match &self.draw {
            Draw::Again(columns) => {
                for place in places.iter_mut() {
                    let mut rng = Rng::at(self.seed, epoch, *place, DRAWS);
                    let hit = rng.below(columns.len() as u64);
                    let column = columns[hit as usize];
                    *place = if rng.unit() < f64::from(column.keep) { hit } else { u64::from(column.other) };
                }
            }
            Draw::Once(weights, epochs) => {
                let list = epochs.get(epoch, || self.list(weights, epoch));
                for place in places.iter_mut() {
                    *place = u64::from(list[(*place).min(self.length - 1) as usize]);
                }
            }
        }
        self.below.resolve(epoch, places);
    }

    fn describe(&self) -> String {
        let how = if matches!(self.draw, Draw::Again(_)) { "with" } else { "without" };
        format!(
            "{}, {} drawn by weight {how} replacement (seed {})",
            self.below.describe(),
            self.length,
            self.seed
        )
    }
}

fn heaviest(weights: &[f64]) -> (u32, f64) {
    (0u32..).zip(weights.iter().copied()).fold((0, 0.0), |best, row| if row.1 > best.1 { row } else { best })
}

/// Builds Vose's alias table: every column holds the same probability, shared by at most two rows.
fn alias_table(weights: &[f64]) -> Vec<Column> {
    // Relative to the heaviest first, so that sums of huge weights stay finite.
    let (heavy, most) = heaviest(weights);
    let scale = weights.len() as f64 / weights.iter().map(|w| w / most).sum::<f64>();
    let mut shares: Vec<f64> = weights.iter().map(|w| w / most * scale).collect();
    let mut columns: Vec<Column> =
        (0..weights.len() as u32).map(|other| Column { keep: 1.0, other }).collect();
    let (mut low, mut high): (Vec<u32>, Vec<u32>) =
        (0..weights.len() as u32).partition(|row| shares[*row as usize] < 1.0);
    while let Some(full) = high.last().copied() {
        let Some(short) = low.pop() else { break };
        let share = shares[short as usize];
        columns[short as usize] = Column { keep: share as f32, other: full };
        shares[full as usize] -= 1.0 - share;
        if shares[full as usize] < 1.0 {
            high.pop();
            low.push(full);
        }
    }
    // What remains due to rounding fills its own column, but a row of weight 0 must never be drawn.
    for row in low {
        if weights[row as usize] == 0.0 {
            columns[row as usize] = Column { keep: 0.0, other: heavy };
        }
    }
    columns
}
