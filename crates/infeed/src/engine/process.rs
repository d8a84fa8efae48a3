//! Tells a process from the one it was forked from, without a system call for each batch.

/// Which process something belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process(u64);

impl Process {
    /// The process that runs this.
    pub(super) fn this() -> Self {
        Process(imp::number())
    }

    /// Whether this process is that one, and not a child that was forked from it.
    pub(super) fn is_here(self) -> bool {
        self == Process::this()
    }
}

#[cfg(unix)]
mod imp {
    use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

    /// How often this process and its ancestors were forked since the first of them asked.
    static FORKS: AtomicU64 = AtomicU64::new(0);
    static ASKED: AtomicU8 = AtomicU8::new(NO);
    const NO: u8 = 0;
    const COUNTS: u8 = 1;
    const CANNOT: u8 = 2;

    extern "C" fn count() {
        FORKS.fetch_add(1, Relaxed);
    }

    pub(super) fn number() -> u64 {
        // No lock: a fork could leave it held. Two threads may ask at once; then every fork counts twice, which is as good.
        if ASKED.load(Relaxed) == NO {
            // SAFETY: the function is called in the child, where it may only do what a signal handler may: it adds to an atomic.
            let failed = unsafe { libc::pthread_atfork(None, None, Some(count)) };
            ASKED.store(if failed == 0 { COUNTS } else { CANNOT }, Relaxed);
        }
        if ASKED.load(Relaxed) == CANNOT { std::process::id().into() } else { FORKS.load(Relaxed) }
    }
}

#[cfg(not(unix))]
mod imp {
    pub(super) fn number() -> u64 {
        std::process::id().into()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_not_its_parent() {
        let parent = Process::this();
        assert!(parent.is_here());
        // SAFETY: the child does nothing but compare two numbers, and leaves without running anything of the parent.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let known = Process::this().is_here() && !parent.is_here();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if known { 0 } else { 1 }) };
        }
        let mut status = 1;
        // SAFETY: a child of this process, and a place for its status.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert!(parent.is_here());
    }
}
