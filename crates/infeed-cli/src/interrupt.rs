//! Clean termination on request: long loops check one flag.

use crate::fault::Fault;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Asks a running command to clean up and end with exit code 130. Returns whether it had been asked before. The binary
/// calls it on Ctrl-C; a program that calls [`run`](crate::run) may call it from another thread.
pub fn interrupt() -> bool {
    ASKED.swap(true, Relaxed)
}

/// Whether an interrupt was requested.
pub(crate) fn asked() -> bool {
    ASKED.load(Relaxed)
}

/// Fails if an interrupt was requested, and clears the request, because [`run`](crate::run) may be called again in the
/// same process.
pub(crate) fn check() -> Result<(), Fault> {
    if ASKED.swap(false, Relaxed) { Err(Fault::Interrupted) } else { Ok(()) }
}
