//! Which row comes when, on which rank. Every order is arithmetic: see [`infeed_core::Order`].
//!
//! The lowest order is [`Sequential`]; all others stand on another one and turn their places into places of it:
//!
//! * shuffles: [`Global`], [`BlockShuffle`], [`Buffer`], [`ByLength`]
//! * selections: [`Slice`], [`Pick`], [`Split`], [`Fold`], [`Repeat`], [`Weighted`], [`Balanced`]
//! * joins: [`Concat`], [`Interleave`], [`Blend`]
//!
//! [`Steps`] cuts an epoch into global batches and those into the shares of the ranks; [`world`] finds out which rank this
//! is; [`ledger`] proves afterwards that every row came as often as promised; [`filter`] is the language of conditions on
//! rows; [`quality`] says how well an order mixes.
#![forbid(unsafe_code)]

mod algebra;
pub mod filter;
mod global;
pub mod ledger;
mod permutation;
mod quality;
mod recent;
mod sample;
mod sequential;
mod shuffle;
mod steps;
pub mod world;

pub use algebra::{
    Blend, BlendLength, Concat, Fold, Interleave, Lengths, Pick, Repeat, Slice, Split, Stop,
    blending_indices, blending_indices_into, fraction, normalized,
};
pub use global::Global;
pub use ledger::{Delivery, Ledger, Why};
pub use permutation::Permutation;
pub use quality::{Quality, quality};
pub use sample::{Balance, Balanced, Weighted};
pub use sequential::Sequential;
pub use shuffle::{BlockShuffle, Buffer, ByLength, Mixer, padding_waste};
pub use steps::{Last, Share, Steps};
pub use world::World;

/// The order that another one stands on.
pub type Below = std::sync::Arc<dyn infeed_core::Order>;
