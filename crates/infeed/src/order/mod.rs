//! Which row comes when. Every order is arithmetic: see [`infeed_core::Order`].

mod permutation;
mod sequential;
mod shuffle;

pub use permutation::Permutation;
pub use sequential::Sequential;
pub use shuffle::Shuffle;
