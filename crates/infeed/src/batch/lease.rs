//! Leases of slabs: the memory returns to the pool when the last holder drops its lease.

use super::slab::Slab;
use infeed_core::{Error, Hold, Result};
use std::sync::{Arc, Mutex, Weak};

/// Slabs waiting to be reused. Fresh memory costs a page fault per 4 KiB; used memory costs nothing.
#[derive(Debug)]
pub struct Pool {
    free: Mutex<Vec<Slab>>,
    keep: usize,
}

impl Pool {
    /// Creates a pool that keeps at most `keep` slabs.
    pub fn new(keep: usize) -> Arc<Self> {
        Arc::new(Pool { free: Mutex::new(Vec::new()), keep })
    }

    /// Returns a slab of exactly `len` bytes, reused or new. Never waits: a consumer that keeps every batch gets new
    /// memory instead of a deadlock.
    pub(super) fn take(self: &Arc<Self>, len: usize) -> Result<Open> {
        let mut free = self.free.hold();
        let found = free.iter().position(|s| s.len() == len).map(|at| free.swap_remove(at));
        drop(free);
        let slab = found.map_or_else(|| Slab::new(len), Ok)?;
        Ok(Open { slab: Some(slab), pool: Arc::downgrade(self) })
    }

    fn give_back(&self, slab: Slab) {
        // Never waits: batches are also dropped in forked children, where a thread of the parent may hold the lock for ever.
        if let Ok(mut free) = self.free.try_lock()
            && free.len() < self.keep
        {
            free.push(slab);
        }
    }
}

/// A slab that is being filled. Returns to the pool if dropped unfinished.
#[derive(Debug)]
pub(super) struct Open {
    slab: Option<Slab>,
    pool: Weak<Pool>,
}

impl Open {
    /// The slab.
    pub(super) fn slab(&self) -> &Slab {
        match &self.slab {
            Some(slab) => slab,
            None => unreachable!("the slab leaves only in `seal` and `drop`"),
        }
    }

    /// Returns all of it, for writing.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let slab = self.slab();
        // SAFETY: writers reach the slab only through this `Open`, and it is borrowed mutably here.
        unsafe { slab.part(0, slab.len()) }
    }

    /// Ends the filling. Consumes `self`, so no writer is left: writers borrow it.
    pub(super) fn seal(mut self) -> Lease {
        Lease { slab: self.slab.take(), pool: std::mem::take(&mut self.pool) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let (Some(slab), Some(pool)) = (self.slab.take(), self.pool.upgrade()) {
            pool.give_back(slab);
        }
    }
}

/// A finished slab. Its bytes do not change while anything but its batch's maker holds the lease; dropping it returns
/// the memory.
#[derive(Debug)]
pub struct Lease {
    slab: Option<Slab>,
    pool: Weak<Pool>,
}

impl Lease {
    /// Allocates memory outside a pool and fills it with `fill`.
    pub fn filled<E: From<Error>>(
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Lease, E> {
        let open = Pool::new(0).take(len)?;
        // SAFETY: the slab was just taken; there is no other reference to it.
        fill(unsafe { open.slab().part(0, len) })?;
        Ok(open.seal())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.slab {
            // SAFETY: a lease is made by `Open::seal`, after the last writer; from then on it cannot be written to.
            Some(slab) => unsafe { slab.bytes() },
            None => &[],
        }
    }

    /// Returns the bytes mutably, to change a batch that nothing else has seen.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        match &self.slab {
            // SAFETY: every reader and every holder of the address has an `Arc` of the lease, and this borrow is the
            // only one.
            Some(slab) => unsafe { slab.part(0, slab.len()) },
            None => &mut [],
        }
    }

    /// Returns the address of the bytes. Python may write there: it then owns the batch like any other array.
    pub fn address(&self) -> *mut u8 {
        self.slab.as_ref().map_or(std::ptr::null_mut(), Slab::address)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let (Some(slab), Some(pool)) = (self.slab.take(), self.pool.upgrade()) {
            pool.give_back(slab);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_only_when_let_go() {
        let pool = Pool::new(2);
        let first = Arc::new(pool.take(100).unwrap().seal());
        let address = first.address();
        let view = Arc::clone(&first);
        drop(first);
        assert_ne!(
            pool.take(100).unwrap().slab().address(),
            address,
            "a view is alive: its memory must not be reused"
        );
        drop(view);
        let again: Vec<_> = (0..2).map(|_| pool.take(100).unwrap()).collect();
        assert!(again.iter().any(|o| o.slab().address() == address));
    }

    #[test]
    fn sizes_do_not_mix_and_the_pool_is_bounded() {
        let pool = Pool::new(1);
        drop((pool.take(10).unwrap(), pool.take(20).unwrap(), pool.take(30).unwrap()));
        assert_eq!(pool.free.lock().unwrap().len(), 1);
        assert_eq!(pool.take(5).unwrap().slab().len(), 5);
    }

    #[test]
    fn a_lease_outlives_its_pool() {
        let pool = Pool::new(1);
        let lease = pool.take(8).unwrap().seal();
        drop(pool);
        assert_eq!(lease.bytes(), [0; 8]);
    }
}
