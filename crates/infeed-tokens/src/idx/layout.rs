//! Where sequences begin, in as little memory as the index allows.

use infeed_core::Sums;

/// How sequences lie in the `.bin`.
#[derive(Debug)]
pub(super) enum SequenceLayout {
    /// One after the other from the first byte on, as the pointers say.
    Straight,
    /// One after the other, and each has a token more than the index counts.
    OneMoreEach,
    /// Sizes and starts written down, because the pointers do not say where a sequence stands when all are laid end to
    /// end: there are gaps, or some sequences have an uncounted token.
    Table { starts: Sums<u32>, repaired: bool },
}
