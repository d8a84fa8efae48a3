//! Orders composed of other orders: parts, sequences, splits and mixtures.
//!
//! Each is arithmetic on places. Only two store more: [`Pick`] keeps the user's list, and [`Blend`] keeps one byte
//! per place, because each of its choices depends on all earlier ones.

mod blend;
mod blocks;
mod concat;
mod fold;
mod fraction;
mod group;
mod interleave;
mod pick;
mod repeat;
mod slice;
mod split;

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod check;
#[cfg(test)]
mod tests;

pub use blend::{Blend, BlendLength, blending_indices, blending_indices_into, normalized};
pub use concat::Concat;
pub use fold::Fold;
pub use fraction::fraction;
pub use interleave::{Interleave, Stop};
pub use pick::Pick;
pub use repeat::Repeat;
pub use slice::Slice;
pub use split::{Lengths, Split};
