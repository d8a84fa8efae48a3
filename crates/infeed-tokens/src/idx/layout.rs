//! Computes where sequences begin, in as little memory as the index allows.

use infeed_core::Sums;

/// How sequences are stored in the `.bin`.
#[derive(Debug)]
pub(super) enum SequenceLayout {
    /// Contiguous from the first byte on, as the pointers say.
    Straight,
    /// Contiguous, and each has one token more than the index counts.
    OneMoreEach,
    /// An explicit table of sizes and starts, needed when the pointers do not give the position in the concatenation:
    /// there are gaps, or some sequences have an uncounted token.
    Table { starts: Sums<u32>, repaired: bool },
}
