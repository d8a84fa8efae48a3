//! Text for infeed: tokenizers and masking.
//!
//! [`Encoder`] converts text to tokens. [`Masking`] and [`Corruption`] make inputs and targets for training. Nothing
//! here reads samples or starts threads.
#![forbid(unsafe_code)]

mod bytelevel;
mod corrupt;
mod encode;
mod mask;

pub use corrupt::Corruption;
pub use encode::{Encoder, Options, Side, Token, Worker};
pub use mask::Masking;
