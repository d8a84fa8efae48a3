//! Text for infeed: tokenizers and masking.
//!
//! [`Encoder`] turns text into tokens, [`Masking`] and [`Corruption`] make the inputs and answers that models are trained
//! with. Nothing here reads samples or starts threads.
#![forbid(unsafe_code)]

mod bytelevel;
mod corrupt;
mod encode;
mod mask;

pub use corrupt::Corruption;
pub use encode::{Encoder, Options, Side, Token, Worker};
pub use mask::Masking;
