//! A block of memory that many threads write to at disjoint places.
//!
//! The only file of the crate where memory is shared without a lock. The rule: a slab is *open* while it is filled, and
//! every range is claimed by one writer only; then it is *sealed* for good and may be read by all.

use infeed_core::{Error, Result, memory::readable};
use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    ptr::NonNull,
};

/// Page size: slots start on a page so that they can be page-locked and advised as a whole.
const PAGE: usize = 4096;
/// From this size on the kernel is asked for huge pages: one page fault per 2 MiB instead of 512.
const HUGE: usize = 4 << 20;

/// Zero-initialised memory of fixed size.
#[derive(Debug)]
pub(super) struct Slab {
    start: NonNull<u8>,
    len: usize,
    layout: Layout,
}

// SAFETY: a slab owns plain bytes; the contract of `part` keeps writers disjoint, and readers come after them.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
    /// Allocates `len` bytes, all zero.
    pub(super) fn new(len: usize) -> Result<Self> {
        let none =
            || Error::sample(format!("the system has no memory for a batch of {}", readable(len as u64)));
        let (size, align) = if len >= HUGE {
            (len.checked_next_multiple_of(HUGE / 2).ok_or_else(none)?, HUGE / 2)
        } else {
            (len.max(1), PAGE)
        };
        let layout = Layout::from_size_align(size, align).map_err(|_| none())?;
        // SAFETY: the layout has a size of at least one byte.
        let raw = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(raw).ok_or_else(none)?;
        #[cfg(target_os = "linux")]
        if len >= HUGE {
            // SAFETY: the range was just allocated; the advice does not change its contents, and a failure is harmless.
            unsafe { libc::madvise(raw.cast(), size, libc::MADV_HUGEPAGE) };
        }
        Ok(Slab { start, len, layout })
    }

    /// Its length.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns a range to write to.
    ///
    /// # Safety
    /// While the returned slice is alive, nothing else may read or write any byte of the range.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn part(&self, at: usize, len: usize) -> &mut [u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "range outside the slab");
        // SAFETY: inside the allocation (checked), initialised (zeroed in `new`), exclusive (guaranteed by the caller).
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), len) }
    }

    /// Returns all of it, for reading.
    ///
    /// # Safety
    /// Nothing may write to the slab while the slice is alive.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: inside the allocation and initialised; no writer (guaranteed by the caller).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Returns its address, for passing the memory to Python without a copy.
    pub(super) fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and no slice of it is left.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
