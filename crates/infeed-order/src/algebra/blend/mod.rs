//! A weighted mixture of orders, with the smallest possible error at every place.
//!
//! Place `i` goes to the part that is furthest behind its share: `argmax_d(w_d * max(i, 1) - used_d)` in f64, where
//! `used_d` counts its places so far and the first part wins ties. This is the order of Megatron's and BlendCorpus's
//! blends, index for index. Each choice depends on all earlier ones, so choices are computed once, when the blend is
//! built ([`kernel`]), and stored as one byte each ([`table`]).

mod indices;
mod kernel;
mod table;
#[cfg(test)]
mod tests;
mod weights;

#[cfg(test)]
pub(super) use tests::plain_epoch;

pub use indices::{blending_indices, blending_indices_into};
pub use weights::normalized;

use super::group;
use crate::Below;
use infeed_core::{Error, Order, Result};
use serde::{Deserialize, Serialize};
use table::Table;

/// The length of an epoch of a blend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum BlendLength {
    /// Ends before any part would be asked for more places than it has.
    #[default]
    First,
    /// Ends when every part has been read at least once. Smaller parts repeat meanwhile.
    All,
    /// A fixed number of places.
    Exactly(u64),
}

/// Parts mixed by weight.
///
/// Each part is read continuously across epochs: the next epoch goes on where the last one stopped, and when the part
/// ends, its own next epoch begins. So every row of a part is used eventually, whatever the weights.
#[derive(Debug)]
pub struct Blend {
    /// The parts with a nonzero weight; the others are removed.
    parts: Vec<Below>,
    lengths: Vec<u64>,
    table: Table,
}

impl Blend {
    /// Mixes parts in proportion to their weights, which need not add up to 1.
    pub fn new(parts: Vec<Below>, weights: &[f64], length: BlendLength) -> Result<Self> {
        if parts.len() != weights.len() {
            let what =
                format!("{} parts with {} weights; give one weight per part", parts.len(), weights.len());
            return Err(Error::plan("blend", what));
        }
        let weights = normalized(weights)?;
        // A part of weight 0 has an error of 0, which would win if all others are 0 or below, so it must be removed.
        let drawn = |part: &usize| weights[*part] > 0.0;
        if let Some(part) = (0..parts.len()).filter(drawn).find(|part| parts[*part].places() == 0) {
            let what =
                format!("part {part} is empty, but its weight is not; give it the weight 0 or leave it out");
            return Err(Error::plan("blend", what));
        }
        let drawn: Vec<usize> = (0..parts.len()).filter(drawn).collect();
        let parts: Vec<Below> = drawn.iter().map(|part| parts[*part].clone()).collect();
        let weights: Vec<f64> = drawn.iter().map(|part| weights[*part]).collect();
        let lengths: Vec<u64> = parts.iter().map(|part| part.places()).collect();
        let table = Table::build(weights, &lengths, length)?;
        Ok(Blend { parts, lengths, table })
    }
}

impl Order for Blend {
    fn places(&self) -> u64 {
        self.table.places()
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        if self.places() == 0 {
            return places.fill(0);
        }
        let mut whom = vec![(0, 0); places.len()];
        self.table.locate(places, &mut whom);
        for (place, (part, inner)) in places.iter_mut().zip(&mut whom) {
            let part = *part as usize;
            (*inner, *place) = onward(epoch, self.table.asked()[part], *place, self.lengths[part]);
        }
        group::ask(&self.parts, &whom, places);
    }

    fn describe(&self) -> String {
        let shares: Vec<String> = self.table.asked().iter().map(u64::to_string).collect();
        format!("blend of {} from each of {}", shares.join(" + "), group::describe(&self.parts))
    }
}

/// Returns the inner epoch and place of sample `k` of a part with `length` places that contributes
/// `asked` of them per epoch.
fn onward(epoch: u64, asked: u64, k: u64, length: u64) -> (u64, u64) {
    match epoch.checked_mul(asked).and_then(|before| before.checked_add(k)) {
        // The common case: a comparison is cheaper than a division.
        Some(at) if at < length => (0, at),
        Some(at) => (at / length, at % length),
        None => {
            let (at, length) = (u128::from(epoch) * u128::from(asked) + u128::from(k), u128::from(length));
            ((at / length) as u64, (at % length) as u64)
        }
    }
}
