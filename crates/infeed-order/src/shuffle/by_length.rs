//! Groups rows of similar length into the same batch, to reduce padding.

use super::shuffle;
use crate::{Below, recent::Recent};
use infeed_core::{Error, Order, OrderExt, Recurrence, Result, Rng};
use std::sync::Arc;

/// Random stream: the order of the groups in a window.
const GROUPS: u64 = 0x006c_656e_6774;

/// Number of windows that are cached: those of a few batches in flight.
const KEPT: usize = 4;
/// How many rows are checked for a length when the order is built.
const PROBES: u64 = 256;

/// Sorts the rows of each window by length, divides them into groups (batches), and shuffles the groups.
///
/// The underlying order decides which rows are in a window: without a shuffle there, every epoch has the
/// same groups. Larger windows pad less and mix less. Takes 4 bytes per row for the lengths and 8 bytes per
/// row of the last few windows.
#[derive(Debug)]
pub struct ByLength {
    below: Below,
    lengths: Arc<[u32]>,
    window: u64,
    group: u64,
    seed: u64,
    windows: Recent<(u64, u64), Vec<u64>>,
}

impl ByLength {
    /// Groups the rows of an order. `lengths` has one entry per row of the source. `group` is the number of rows that
    /// are padded together (the batch). `window` is the number of places that are sorted together, rounded up to
    /// whole groups. A short group at the end of the epoch stays there.
    pub fn new(below: Below, lengths: Arc<[u32]>, window: u64, group: u64, seed: u64) -> Result<Self> {
        if group == 0 || window == 0 {
            let which = if group == 0 { "group" } else { "window" };
            return Err(Error::plan(
                "by_length",
                format!("a {which} of 0 rows holds nothing; take at least 1"),
            ));
        }
        let places = below.places();
        if window.min(places) > u64::from(u32::MAX) {
            return Err(Error::plan(
                "group_by_length",
                format!("a window of {window} rows is too large to sort"),
            ));
        }
        // A row without a length would count as empty, late in the epoch; sampling some rows finds a wrong list early.
        let probes = PROBES.min(places);
        let mut rows: Vec<u64> = (0..probes).map(|i| spread(i, probes, places)).collect();
        below.resolve(0, &mut rows);
        if let Some(row) = rows.into_iter().max().filter(|row| *row >= lengths.len() as u64) {
            return Err(Error::plan(
                "by_length",
                format!("there are {} lengths but a row {row}; give one length per row", lengths.len()),
            ));
        }
        let window = window.min(places).max(1).div_ceil(group).saturating_mul(group);
        Ok(ByLength { below, lengths, window, group, seed, windows: Recent::new(KEPT) })
    }

    /// Returns the rows of a window in their final order.
    fn rows_of(&self, epoch: u64, window: u64) -> Vec<u64> {
        let start = window * self.window;
        let rows = self.below.rows(epoch, start..start.saturating_add(self.window));
        // Length and position in one number: sorts twice as fast as pairs, and ties keep the underlying order.
        let mut keys: Vec<u64> = (rows.iter().enumerate())
            .map(|(i, row)| u64::from(self.lengths.get(*row as usize).copied().unwrap_or(0)) << 32 | i as u64)
            .collect();
        keys.sort_unstable();
        let groups = keys.chunks_exact(self.group as usize);
        let short = groups.remainder();
        let mut groups: Vec<&[u64]> = groups.collect();
        shuffle(&mut groups, &mut Rng::at(self.seed, epoch, window, GROUPS));
        groups.into_iter().flatten().chain(short).map(|key| rows[*key as u32 as usize]).collect()
    }
}

impl Order for ByLength {
    fn places(&self) -> u64 {
        self.below.places()
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let (Some(last), Some(first)) = (self.places().checked_sub(1), places.first().copied()) else {
            return;
        };
        let get = |number| self.windows.get((epoch, number), || self.rows_of(epoch, number));
        let mut number = first.min(last) / self.window;
        let mut rows = get(number);
        for place in places {
            let at = (*place).min(last);
            // The window start is compared first, so the common case needs no division.
            if at < number * self.window || at - number * self.window >= self.window {
                number = at / self.window;
                rows = get(number);
            }
            *place = rows[(at - number * self.window) as usize];
        }
    }

    /// All rows of an epoch are mixed among themselves.
    fn recurrence(&self) -> Recurrence {
        self.below.recurrence()
    }

    fn describe(&self) -> String {
        format!(
            "{}, by length (groups of {} in windows of {}, seed {})",
            self.below.describe(),
            self.group,
            self.window,
            self.seed
        )
    }
}

/// Returns the i-th of `count` numbers spaced evenly over `0..n`, both ends included.
fn spread(i: u64, count: u64, n: u64) -> u64 {
    (u128::from(i) * u128::from(n - 1) / u128::from(count.saturating_sub(1).max(1))) as u64
}

/// Returns the fraction of elements that are padding if every batch is padded to its longest row: 0 if all rows of a
/// batch have the same length, approaching 1 if most elements are padding.
///
/// ```
/// assert_eq!(infeed_order::padding_waste([[2, 4].as_slice(), &[3, 3]]), 1.0 - 12.0 / 14.0);
/// ```
pub fn padding_waste<'a>(lengths_of_batches: impl IntoIterator<Item = &'a [u32]>) -> f64 {
    let (mut real, mut padded) = (0.0, 0.0);
    for batch in lengths_of_batches {
        real += batch.iter().map(|length| f64::from(*length)).sum::<f64>();
        padded += batch.iter().max().map_or(0.0, |longest| f64::from(*longest) * batch.len() as f64);
    }
    if padded > 0.0 { 1.0 - real / padded } else { 0.0 }
}
