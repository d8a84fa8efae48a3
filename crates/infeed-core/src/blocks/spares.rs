//! Memory of decoded blocks that is used again.

use crate::{Hold, Result, memory};
use std::sync::Mutex;

/// Buffers from this size on are kept for the next block; smaller ones are cheap to allocate.
const LARGE: usize = 1 << 21;

/// Buffers of evicted blocks. Reusing one is free, while the system must clear every page of a new one.
#[derive(Debug, Default)]
pub struct Spares {
    free: Mutex<Vec<Vec<u8>>>,
}

/// Number of buffers that are kept.
const SPARES: usize = 8;

impl Spares {
    /// Returns a buffer of `len` bytes with unspecified contents.
    pub fn take(&self, len: usize) -> Result<Vec<u8>> {
        if len >= LARGE {
            let mut free = self.free.hold();
            // Not one that is much too large: the cache would underestimate its size.
            let fits = |memory: &Vec<u8>| (len..=len + len / 4).contains(&memory.capacity());
            if let Some(at) = free.iter().position(fits) {
                let mut memory = free.swap_remove(at);
                drop(free);
                memory.resize(len, 0);
                return Ok(memory);
            }
        }
        fresh(len)
    }

    /// Keeps a buffer for the next block.
    pub fn give(&self, memory: Vec<u8>) {
        if memory.len() < LARGE {
            return;
        }
        let mut free = self.free.hold();
        if free.len() == SPARES {
            free.remove(0);
        }
        free.push(memory);
    }
}

/// New memory of zeros. The system hands large pieces out as zeros, so that asking for them costs nothing, unlike writing them;
/// asking first whether there is as much makes an error of what would end the process.
fn fresh(len: usize) -> Result<Vec<u8>> {
    probe(len as u64)?;
    Ok(vec![0; len])
}

/// From this size on, [`probe`] asks the system.
const PROBED: u64 = 16 << 20;

/// Fails if the system has no memory for a buffer that a library, or a zeroed vector, is about to allocate. Those allocations
/// end the process when they fail.
pub fn probe(bytes: u64) -> Result<()> {
    if bytes < PROBED {
        return Ok(());
    }
    memory::with_capacity::<u8>(usize::try_from(bytes).unwrap_or(usize::MAX)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_where_it_fits() {
        let spares = Spares::default();
        let first = spares.take(LARGE + 100).unwrap();
        let address = first.as_ptr();
        spares.give(first);
        let larger = spares.take(2 * LARGE).unwrap();
        assert_ne!(larger.as_ptr(), address, "too small");
        let again = spares.take(LARGE + 50).unwrap();
        assert_eq!((again.as_ptr(), again.len()), (address, LARGE + 50));
        spares.give(again);
        assert_eq!(spares.take(LARGE + 100).unwrap().len(), LARGE + 100);
    }

    #[test]
    fn memory_that_nobody_has_is_an_error() {
        probe(1 << 30).unwrap();
        assert!(probe(u64::MAX).unwrap_err().to_string().contains("no memory"));
    }
}
