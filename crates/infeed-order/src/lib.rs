//! Decides which row comes when, and on which rank. Every order is pure arithmetic: see [`infeed_core::Order`].
//!
//! The lowest order is [`Sequential`]. Every other order wraps one or more orders and maps its own
//! places to places in them:
//!
//! * shuffles: [`Global`], [`BlockShuffle`], [`SlidingShuffle`], [`Buffer`], [`ByLength`]
//! * selections: [`Slice`], [`Pick`], [`Split`], [`Fold`], [`Repeat`], [`Weighted`], [`Balanced`]
//! * joins: [`Concat`], [`Interleave`], [`Blend`]
//!
//! [`Steps`] divides an epoch into global batches and each batch into one share per rank. [`world`] determines the
//! rank of this process. [`ledger`] proves afterwards that every row was delivered as often as promised. [`filter`]
//! is the expression language for conditions on rows. [`quality`] measures how well an order mixes.
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
pub use shuffle::{BlockShuffle, Buffer, ByLength, Mixer, SlidingShuffle, padding_waste};
pub use steps::{Last, Share, Steps};
pub use world::World;

/// The underlying order that another order wraps.
pub type Below = std::sync::Arc<dyn infeed_core::Order>;
