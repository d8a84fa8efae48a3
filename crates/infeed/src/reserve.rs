//! Memory for the moment when the system has none left.
//!
//! Libraries allocate without a way to report failure: when the system says no, the process is aborted. [`Allocator`] serves
//! such requests from a reserve instead, so that the work at hand can be finished, and remembers it. Loaders ask
//! [`shortage`] at every batch and raise an error, while there is still memory to do so. Requests that do not fit into the
//! reserve fail as before; sizes that come from data are checked before (see [`infeed_core::memory`]).

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::UnsafeCell,
    ptr::{copy_nonoverlapping, null_mut, write_bytes},
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

/// Bytes in the reserve. They are not read or written before they are needed, so they take no memory until then.
const SIZE: u64 = 64 << 20;

#[repr(C, align(4096))]
struct Region(UnsafeCell<[u8; SIZE as usize]>);

// SAFETY: parts are handed out once each, by `Reserve::take`.
unsafe impl Sync for Region {}

static REGION: Region = Region(UnsafeCell::new([0; SIZE as usize]));
static RESERVE: Reserve = Reserve { state: AtomicU64::new(0), denied: AtomicU64::new(0) };

/// Hands out the region from front to back, and begins again when everything was returned. There is no lock: a fork or a
/// signal could leave it locked.
struct Reserve {
    /// Bytes handed out, and in the upper half how many parts are in use.
    state: AtomicU64,
    /// Bytes that the system denied since somebody asked.
    denied: AtomicU64,
}

/// One part in the upper half of [`Reserve::state`].
const PART: u64 = 1 << 32;

impl Reserve {
    fn start(&self) -> *mut u8 {
        REGION.0.get().cast()
    }

    fn holds(&self, part: *mut u8) -> bool {
        (part as usize).wrapping_sub(self.start() as usize) < SIZE as usize
    }

    /// Returns null if the reserve is used up.
    fn take(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size() as u64, layout.align() as u64);
        let next = |state: u64| {
            let at = (state % PART).checked_next_multiple_of(align)?;
            let end = at.checked_add(size).filter(|end| align <= 4096 && *end <= SIZE)?;
            Some((at, state - state % PART + PART + end))
        };
        let taken = self.state.fetch_update(SeqCst, SeqCst, |state| next(state).map(|(_, after)| after));
        let Some((at, _)) = taken.ok().and_then(next) else { return null_mut() };
        self.denied.fetch_add(size.max(1), SeqCst);
        self.start().wrapping_add(at as usize)
    }

    fn give_back(&self) {
        let after = |state: u64| Some(if state < 2 * PART { 0 } else { state - PART });
        let _ = self.state.fetch_update(SeqCst, SeqCst, after);
    }
}

/// The system's allocator, with a reserve. Programs choose it with `#[global_allocator]`.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: memory comes from the system or is a part of the reserve that nobody else has.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        let made = unsafe { System.alloc(layout) };
        if made.is_null() { RESERVE.take(layout) } else { made }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        let made = unsafe { System.alloc_zeroed(layout) };
        if !made.is_null() {
            return made;
        }
        let made = RESERVE.take(layout);
        if !made.is_null() {
            // SAFETY: it has room for the layout.
            unsafe { write_bytes(made, 0, layout.size()) };
        }
        made
    }

    unsafe fn dealloc(&self, part: *mut u8, layout: Layout) {
        if RESERVE.holds(part) {
            RESERVE.give_back();
        } else {
            // SAFETY: the caller's contract, and it is not from the reserve.
            unsafe { System.dealloc(part, layout) };
        }
    }

    unsafe fn realloc(&self, part: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !RESERVE.holds(part) {
            // SAFETY: the caller's contract, and it is not from the reserve.
            let made = unsafe { System.realloc(part, layout, size) };
            if !made.is_null() {
                return made;
            }
        }
        // SAFETY: the caller guarantees that the size is valid for this alignment, and that `part` has this layout.
        unsafe {
            let made = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !made.is_null() {
                copy_nonoverlapping(part, made, layout.size().min(size));
                self.dealloc(part, layout);
            }
            made
        }
    }
}

/// Returns how many bytes the system denied since the last call; 0 if it had enough.
pub fn shortage() -> u64 {
    match RESERVE.denied.load(SeqCst) {
        0 => 0,
        _ => RESERVE.denied.swap(0, SeqCst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because there is one reserve.
    #[test]
    fn the_reserve_is_handed_out_and_begins_again() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        let first = RESERVE.take(layout(3, 1));
        let second = RESERVE.take(layout(100, 64));
        assert!(RESERVE.holds(first) && RESERVE.holds(second));
        assert_eq!((second as usize - first as usize, second as usize % 64), (64, 0));
        assert!(RESERVE.take(layout(SIZE as usize, 1)).is_null());
        assert!(RESERVE.take(layout(8, 8192)).is_null());
        assert_eq!((shortage(), shortage()), (103, 0));
        RESERVE.give_back();
        // The first part is still in use.
        assert_eq!(RESERVE.take(layout(8, 8)) as usize - first as usize, 168);
        RESERVE.give_back();
        RESERVE.give_back();
        let all = RESERVE.take(layout(SIZE as usize, 1));
        assert_eq!(all, first);
        RESERVE.give_back();

        // What lies in the reserve moves out of it when it grows, and what it held comes along.
        let small = RESERVE.take(layout(4, 1));
        // SAFETY: four bytes are ours, then five.
        unsafe {
            copy_nonoverlapping(b"data".as_ptr(), small, 4);
            let grown = Allocator.realloc(small, layout(4, 1), 5);
            assert!(!RESERVE.holds(grown));
            assert_eq!(std::slice::from_raw_parts(grown, 4), b"data");
            Allocator.dealloc(grown, layout(5, 1));
            let zeros = Allocator.alloc_zeroed(layout(9, 1));
            assert_eq!(std::slice::from_raw_parts(zeros, 9), [0; 9]);
            Allocator.dealloc(zeros, layout(9, 1));
        }
        assert_eq!(RESERVE.state.load(SeqCst), 0);
        shortage();
    }
}
