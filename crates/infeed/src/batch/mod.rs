//! Batches: memory that is filled by many threads and lent out without a copy.

mod change;
mod columns;
mod element;
mod filling;
mod flat;
mod layout;
mod lease;
mod mask;
mod padding;
mod slab;
mod slot;

pub use change::Change;
pub use columns::{Batch, Column, Fate, Fates, Names};
pub use filling::Filling;
pub use layout::{ColumnLayout, PadMask};
pub use lease::{Lease, Pool};
pub use padding::Padding;
pub use slot::SampleSlot;
