//! Telling somebody else where the members of a tar lie that is read from front to back.

use infeed_core::Shard;
use std::fmt::Debug;

/// Somebody who wants to know where the members of plain tars lie.
pub trait TarWatch: Debug + Send + Sync {
    /// A tar is read from its first byte on. `None` if nobody wants to know about it.
    fn begin(&self, shard: &Shard) -> Option<Box<dyn TarNotes>>;
}

/// What is noted of one tar.
pub trait TarNotes: Send {
    /// A file, and where its data lies. False if no more is wanted.
    fn member(&mut self, name: &[u8], body: u64, size: u64) -> bool;

    /// An archive has ended; another may follow.
    fn close(&mut self);

    /// The tar was read to its end, without a fault.
    fn end(self: Box<Self>);
}
