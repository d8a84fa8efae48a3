//! Lets a fork wait until no thread of Python is inside the engine.
//!
//! A forked child has copies of all locks and none of the other threads. A lock that another thread held at that moment
//! stays locked for ever in the child. Threads of the engine are paused before a fork (`Loader::pause`); consumers, which are
//! threads of Python, pass this gate: while it is closed nobody goes in, and it closes once everybody is out. Only atomics are
//! used, so that the gate itself cannot be left locked.

use pyo3::prelude::*;
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread::sleep,
    time::{Duration, Instant},
};

static INSIDE: AtomicUsize = AtomicUsize::new(0);
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Whether a fork went ahead although somebody was still at work: the child must not use what it inherited.
static BUSY: AtomicBool = AtomicBool::new(false);
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Time between two looks at the gate.
const LOOK: Duration = Duration::from_micros(200);

/// Counts a thread as inside until it is dropped.
pub(crate) struct Inside(());

/// Goes in. The GIL must not be held: whoever closed the gate may need it to open the gate again.
pub(crate) fn enter() -> Inside {
    loop {
        INSIDE.fetch_add(1, SeqCst);
        if !CLOSED.load(SeqCst) {
            return Inside(());
        }
        INSIDE.fetch_sub(1, SeqCst);
        while CLOSED.load(SeqCst) {
            sleep(LOOK);
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, SeqCst);
    }
}

/// Closes the gate and waits until everybody is out.
fn close(patience: Duration) {
    CLOSED.store(true, SeqCst);
    let start = Instant::now();
    while INSIDE.load(SeqCst) > 0 {
        if start.elapsed() > patience {
            leave_busy();
            return;
        }
        sleep(LOOK);
    }
}

/// Notes that somebody is at work while the process forks.
pub(crate) fn leave_busy() {
    BUSY.store(true, SeqCst);
}

/// Opens the gate in the parent.
fn open() {
    BUSY.store(false, SeqCst);
    CLOSED.store(false, SeqCst);
}

/// Opens the gate in a child, where nobody is inside. Returns whether what the child inherited can be used.
fn open_in_child() -> bool {
    INSIDE.store(0, SeqCst);
    CLOSED.store(false, SeqCst);
    let busy = BUSY.swap(false, SeqCst);
    FORKS.fetch_add(usize::from(busy), SeqCst);
    !busy
}

/// How long a fork waits for a consumer that is inside.
const PATIENCE: Duration = Duration::from_secs(5);

/// Closes the gate: Python is about to fork.
#[pyfunction]
pub(crate) fn close_gate(py: Python<'_>) {
    py.detach(|| close(PATIENCE));
}

/// Opens the gate in the parent.
#[pyfunction]
pub(crate) fn open_gate() {
    open();
}

/// Opens the gate in a child. Returns whether the loaders that it inherited can be used.
#[pyfunction]
pub(crate) fn open_gate_in_child() -> bool {
    open_in_child()
}

/// How many forks left objects behind that must not be used: plans of an earlier count are made anew.
#[pyfunction]
pub(crate) fn lost_forks() -> usize {
    FORKS.load(SeqCst)
}
