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
#[cfg(target_os = "linux")]
const HUGE: usize = 4 << 20;
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// Zero-initialised memory of fixed size.
#[derive(Debug)]
pub(super) struct Slab {
    start: NonNull<u8>,
    len: usize,
    origin: Origin,
}

/// Where the memory of a slab comes from.
#[derive(Debug)]
enum Origin {
    Allocator(Layout),
    /// Mapped, with this many bytes.
    #[cfg(target_os = "linux")]
    Kernel(usize),
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
        #[cfg(target_os = "linux")]
        if len >= HUGE {
            return Self::mapped(len).ok_or_else(none);
        }
        let layout = Layout::from_size_align(len.max(1), PAGE).map_err(|_| none())?;
        // SAFETY: the layout has a size of at least one byte.
        let raw = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(raw).ok_or_else(none)?;
        Ok(Slab { start, len, origin: Origin::Allocator(layout) })
    }

    /// Asks the kernel for memory of its own. The allocator would write zeros to every page before the kernel hears of huge
    /// pages; this way pages are zeroed by the kernel, when they are first written to.
    #[cfg(target_os = "linux")]
    fn mapped(len: usize) -> Option<Self> {
        let size = len.checked_next_multiple_of(HUGE_PAGE)?;
        let whole = size.checked_add(HUGE_PAGE)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let raw = unsafe { libc::mmap(std::ptr::null_mut(), whole, access, kind, -1, 0) };
        if raw == libc::MAP_FAILED {
            return None;
        }
        // Huge pages lie at multiples of their size: what is before and behind them goes back.
        let before = raw.cast::<u8>().align_offset(HUGE_PAGE);
        // SAFETY: `before` is below HUGE_PAGE, so that all `size` bytes from there on are inside the mapping; the two ranges that
        // are unmapped are the rest of it, whole pages because all sizes are multiples of a page. Advice changes no contents, and
        // if it fails, pages are small.
        let start = unsafe {
            let start = raw.cast::<u8>().add(before);
            if before > 0 {
                libc::munmap(raw, before);
            }
            if before < HUGE_PAGE {
                libc::munmap(start.add(size).cast(), HUGE_PAGE - before);
            }
            libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE);
            start
        };
        NonNull::new(start).map(|start| Slab { start, len, origin: Origin::Kernel(size) })
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
        match self.origin {
            // SAFETY: allocated in `new` with this layout, and no slice of it is left.
            Origin::Allocator(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            // SAFETY: mapped in `mapped` with this size, and no slice of it is left.
            #[cfg(target_os = "linux")]
            Origin::Kernel(size) => unsafe {
                libc::munmap(self.start.as_ptr().cast(), size);
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_aligned_and_all_of_it_can_be_written() {
        for len in [0, 1, PAGE + 1, (4 << 20) - 1, 4 << 20, (5 << 20) + 3] {
            let slab = Slab::new(len).unwrap();
            assert_eq!((slab.len(), slab.address().align_offset(PAGE)), (len, 0));
            // SAFETY: nothing else has the slab.
            let all = unsafe { slab.part(0, len) };
            assert!(all.iter().all(|byte| *byte == 0));
            all.fill(7);
            // SAFETY: nothing writes any more.
            assert!(unsafe { slab.bytes() }.iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn too_much_is_an_error() {
        for len in [usize::MAX, usize::MAX / 2, 1 << 60] {
            assert!(Slab::new(len).unwrap_err().to_string().contains("no memory"), "{len}");
        }
    }
}
