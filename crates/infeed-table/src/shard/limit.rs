//! What one block may take in memory.

use infeed_core::{
    Error, Result,
    memory::{self, readable},
};
use std::sync::atomic::{AtomicU64, Ordering};

/// Most bytes of a block once it is decoded: as much as `memory=` says, without a limit where nothing is said. A block is
/// decoded as a whole, so that one that is larger cannot be read within `memory=`.
#[derive(Debug)]
pub(crate) struct BlockLimit(AtomicU64);

impl Default for BlockLimit {
    fn default() -> Self {
        BlockLimit(AtomicU64::new(u64::MAX))
    }
}

impl BlockLimit {
    pub(crate) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Checks the bytes that a block claims to have, before memory is taken for them.
    pub(crate) fn check(&self, bytes: u64) -> Result<()> {
        let limit = self.get();
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::sample(format!(
            "it takes {} once it is decoded, more than the {} of memory=; raise memory=, read fewer columns, or write the file \
             with fewer rows at a time",
            readable(bytes),
            readable(limit)
        )))
    }
}

/// From this size on, [`probe`] asks the system.
const LARGE: u64 = 16 << 20;

/// Fails if the system has no memory for a buffer that a library, or a zeroed vector, is about to allocate. Those allocations
/// end the process when they fail.
pub(crate) fn probe(bytes: u64) -> Result<()> {
    if bytes < LARGE {
        return Ok(());
    }
    memory::with_capacity::<u8>(usize::try_from(bytes).unwrap_or(usize::MAX)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_refused_in_words() {
        let limit = BlockLimit::default();
        limit.check(u64::MAX).unwrap();
        limit.set(200 << 20);
        limit.check(200 << 20).unwrap();
        let text = limit.check(1 << 30).unwrap_err().to_string();
        assert!(text.contains("1.0 GiB") && text.contains("200.0 MiB of memory="), "{text}");
        probe(1 << 30).unwrap();
        assert!(probe(u64::MAX).unwrap_err().to_string().contains("no memory"));
    }
}
