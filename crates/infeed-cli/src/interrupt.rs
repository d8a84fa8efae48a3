//! Ending cleanly when asked to: long loops look at one flag.

use crate::fault::Fault;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Asks a running command to clean up and end with exit code 130. Says whether it had been asked before. The binary
/// calls it on Ctrl-C; a program that calls [`run`](crate::run) may call it from another thread.
pub fn interrupt() -> bool {
    ASKED.swap(true, Relaxed)
}

/// Whether somebody asked.
pub(crate) fn asked() -> bool {
    ASKED.load(Relaxed)
}

/// An error when somebody asked. Forgets it then, because within one process [`run`](crate::run) may be called again.
pub(crate) fn check() -> Result<(), Fault> {
    if ASKED.swap(false, Relaxed) { Err(Fault::Interrupted) } else { Ok(()) }
}
