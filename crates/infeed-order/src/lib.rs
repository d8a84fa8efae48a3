//! Which row comes when, on which rank. Every order is arithmetic: see [`infeed_core::Order`].
//!
//! The lowest order is [`Sequential`]; all others stand on another one and turn their places into places of it.
#![forbid(unsafe_code)]

mod global;
mod memo;
mod permutation;
mod sequential;
mod steps;

pub use global::Global;
pub use memo::Memo;
pub use permutation::Permutation;
pub use sequential::Sequential;
pub use steps::{Last, Share, Steps};

/// The order that another one stands on.
pub type Below = std::sync::Arc<dyn infeed_core::Order>;
