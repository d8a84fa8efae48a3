//! A mapped file that is cut short ends in an error, not in the end of the process.
//!
//! Touching a page of a mapping beyond the end of its file raises SIGBUS, whose default is to kill the process. The
//! handler here puts zeros in place of what is gone and marks the mapping as lost; the engine looks at the marks before it
//! hands a batch out ([`lost`]), so zeros are never delivered. Faults anywhere else go to the handler that was there before.
//!
//! The handler may only use atomics and system calls: it interrupts any thread at any place. So mappings are kept in a list
//! of nodes that are never freed, only used again.

use infeed_core::Hold;
use std::{
    collections::BTreeMap,
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    ptr::null_mut,
    sync::{
        Arc, Mutex, Once,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst},
    },
};

/// One mapping. A free node has no addresses.
struct Region {
    start: AtomicUsize,
    end: AtomicUsize,
    lost: AtomicBool,
    next: *const Region,
}

// SAFETY: `next` is written before the node is shared and never again; everything else is atomic.
unsafe impl Sync for Region {}

static FIRST: AtomicPtr<Region> = AtomicPtr::new(null_mut());
/// Mappings that have lost pages and are still there.
static LOST: AtomicUsize = AtomicUsize::new(0);
/// The files of all mappings, by address. Also serialises changes of the list.
static NAMES: Mutex<BTreeMap<usize, Arc<str>>> = Mutex::new(BTreeMap::new());

/// Watches a mapping until it is dropped.
pub(super) struct Guard {
    region: &'static Region,
}

impl Guard {
    /// Watches `len` bytes at `start`, which are the file `name`.
    pub(super) fn new(start: usize, len: usize, name: &Arc<str>) -> Guard {
        install();
        let mut names = NAMES.hold();
        let region = regions().find(|r| r.start.load(SeqCst) == 0).unwrap_or_else(|| {
            let next = FIRST.load(SeqCst);
            let (start, end) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let fresh = Box::leak(Box::new(Region { start, end, lost: AtomicBool::new(false), next }));
            FIRST.store(fresh, SeqCst);
            fresh
        });
        region.end.store(start + len, SeqCst);
        region.start.store(start, SeqCst);
        names.insert(start, Arc::clone(name));
        Guard { region }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut names = NAMES.hold();
        names.remove(&self.region.start.swap(0, SeqCst));
        if self.region.lost.swap(false, SeqCst) {
            LOST.fetch_sub(1, SeqCst);
        }
    }
}

fn regions() -> impl Iterator<Item = &'static Region> {
    // SAFETY: nodes are leaked, so every pointer in the list stays valid.
    let at = |node: *const Region| unsafe { node.as_ref() };
    std::iter::successors(at(FIRST.load(SeqCst)), move |region| at(region.next))
}

/// Whether any mapping has lost pages. One load: called for every piece of a batch.
#[inline]
pub(crate) fn any_lost() -> bool {
    LOST.load(SeqCst) > 0
}

/// The mapped files that were cut short while they are in use.
pub(crate) fn lost() -> Vec<Arc<str>> {
    let names = NAMES.hold();
    let lost = regions().filter(|r| r.lost.load(SeqCst));
    lost.filter_map(|r| names.get(&r.start.load(SeqCst)).cloned()).collect()
}

/// What handled SIGBUS before us.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// Installs the handler, once.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a zeroed sigaction is valid; both pointers are to memory of the right type; the handler has the signature
        // that SA_SIGINFO asks for.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&mut ours.sa_mask);
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), before.as_mut_ptr()) == 0 {
                // Known before the handler can run.
                BEFORE.store(Box::leak(Box::new(before.assume_init())), SeqCst);
                libc::sigaction(libc::SIGBUS, &ours, null_mut());
            }
        }
    });
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo to a handler with SA_SIGINFO; for SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let inside = |r: &&Region| {
        let start = r.start.load(SeqCst);
        start != 0 && (start..r.end.load(SeqCst)).contains(&address)
    };
    if let Some(region) = regions().find(inside)
        && replace(address, region.end.load(SeqCst))
    {
        if !region.lost.swap(true, SeqCst) {
            LOST.fetch_add(1, SeqCst);
        }
        return;
    }
    // SAFETY: BEFORE is set before the handler is installed and points to leaked memory; its handler, if it is a function,
    // has the signature that its flags say.
    unsafe {
        let before = &*BEFORE.load(SeqCst);
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // The access is repeated on return and ends the process as it would have without us.
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(libc::SIGBUS, &default, null_mut());
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Puts zeros in place of the mapping from the page of `address` to its end.
fn replace(address: usize, end: usize) -> bool {
    // SAFETY: sysconf has no preconditions. The range lies in a mapping that is registered and so still mapped: it is only
    // read, by code that takes any value of a byte, and what was mapped there is gone in any case.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let from = address / page * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        libc::mmap(from as *mut c_void, end - from, libc::PROT_READ, flags, -1, 0) != libc::MAP_FAILED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LocalStore;
    use infeed_core::{Store, StoreExt};
    use std::fs;

    #[test]
    fn a_truncated_mapping_reads_as_zeros_and_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, vec![7; 100_000]).unwrap();
        let store = LocalStore::new();
        let shard = store.stat_one(path.to_str().unwrap()).unwrap();
        let map = store.map(&shard).unwrap().unwrap();
        assert_eq!(map[99_999], 7);
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
        let sum: u64 = map.iter().map(|b| u64::from(*b)).sum();
        assert_eq!(sum, 7 * 4096);
        assert!(any_lost());
        assert!(lost().contains(&shard.name));
        drop(map);
        assert!(!lost().contains(&shard.name));
    }
}
