//! Memory of decoded blocks that is used again.

use crate::{Hold, Result, memory};
use std::sync::Mutex;

/// Buffers from this size on are kept for the next block; smaller ones are cheap to allocate.
const LEAST: usize = 1 << 18;
/// Buffers from this size on count as large.
const LARGE: usize = 1 << 21;

/// Buffers of evicted blocks. Reusing one is free, while the system must clear every page of a new one.
#[derive(Debug, Default)]
pub struct Spares {
    free: Mutex<Vec<Vec<u8>>>,
}

/// Number of buffers that are kept, and of those that are not large.
const SPARES: usize = 8;
const SMALL_SPARES: usize = 32;

impl Spares {
    /// Returns a buffer of `len` bytes with unspecified contents.
    pub fn take(&self, len: usize) -> Result<Vec<u8>> {
        if len >= LEAST {
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
        if memory.len() < LEAST {
            return;
        }
        let is_large = |memory: &Vec<u8>| memory.capacity() >= LARGE;
        let most = if is_large(&memory) { SPARES } else { SMALL_SPARES };
        let mut free = self.free.hold();
        let alike = |other: &&Vec<u8>| is_large(other) == is_large(&memory);
        if free.iter().filter(alike).count() == most
            && let Some(oldest) = free.iter().position(|other| alike(&other))
        {
            free.remove(oldest);
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
    fn small_buffers_do_not_drive_out_large_ones() {
        let spares = Spares::default();
        let large = spares.take(LARGE).unwrap();
        let address = large.as_ptr();
        spares.give(large);
        spares.give(vec![0; LEAST - 1]);
        (0..2 * SMALL_SPARES).for_each(|_| spares.give(vec![0; LEAST]));
        assert_eq!(spares.free.hold().len(), SMALL_SPARES + 1);
        let again = spares.take(LARGE).unwrap();
        assert_eq!(again.as_ptr(), address);
    }

    #[test]
    fn memory_that_nobody_has_is_an_error() {
        probe(1 << 30).unwrap();
        assert!(probe(u64::MAX).unwrap_err().to_string().contains("no memory"));
    }
}
