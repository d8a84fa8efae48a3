//! A mixture of orders by weight, with the smallest possible error at every place.
//!
//! At place `i` the part stands that is furthest behind its share: `argmax_d(w_d * max(i, 1) - used_d)` in f64, where
//! `used_d` counts its places so far and the first wins ties. This is the order of Megatron's and BlendCorpus's blends,
//! index for index. Each choice depends on all before it, so choices are made once, when the blend is built
//! ([`kernel`]), and kept as a byte each ([`table`]).

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

/// How long an epoch of a blend is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum BlendLength {
    /// As long as no part is asked for more than it has.
    #[default]
    First,
    /// Until every part has been gone through at least once. Smaller ones come again meanwhile.
    All,
    /// So many places.
    Exactly(u64),
}

/// Parts mixed by weight.
///
/// Over the epochs a part is read on and on: what one epoch leaves over comes in the next, and when the part ends, its
/// own next epoch begins. So no row of a part is starved, whatever the weights.
#[derive(Debug)]
pub struct Blend {
    /// Those that are drawn from; a weight of 0 takes a part out.
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
        // A weight of 0 has an error of 0, which would win where all others are 0 or below: it must not take part.
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

/// The inner epoch and place of sample `k` of a part with `length` places that is asked for `asked` in each epoch.
fn onward(epoch: u64, asked: u64, k: u64, length: u64) -> (u64, u64) {
    match epoch.checked_mul(asked).and_then(|before| before.checked_add(k)) {
        // Most come here, and a comparison is cheaper than a division.
        Some(at) if at < length => (0, at),
        Some(at) => (at / length, at % length),
        None => {
            let (at, length) = (u128::from(epoch) * u128::from(asked) + u128::from(k), u128::from(length));
            ((at / length) as u64, (at % length) as u64)
        }
    }
}
