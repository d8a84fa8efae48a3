//! Batches: memory that is filled by many threads and lent out without a copy.

mod change;
mod columns;
mod filling;
mod lease;
mod padding;
mod slab;

pub use change::Change;
pub use columns::{Batch, Column, Fate, Names};
pub use filling::{ColumnLayout, Filling, SampleSlot};
pub use lease::{Lease, Pool};
pub use padding::Padding;
