//! What one block may take in memory.

use infeed_core::{Error, Result, memory::readable};
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
    }
}
