//! Checks the engine's protocol of sleeping and waking (`src/engine/sleep`) in thousands of schedules: in each, every
//! batch arrives, no thread sleeps for ever, and no thread is at work while the engine is paused.
//!
//! The protocol is compiled a second time here, over the locks of `shuttle`, which decide at every step which thread
//! runs and report a deadlock if none can. Batches and pieces are a toy (`board.rs`, `toy.rs`); sleeping and waking
//! are the real code.

mod board;
#[allow(dead_code)]
#[path = "../../src/engine/sleep/protocol/mod.rs"]
mod protocol;
mod scenarios;
mod toy;

/// Replaces the locks of the standard library.
mod sync {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    use std::{sync::PoisonError, time::Duration};

    pub(crate) trait Hold<T> {
        fn hold(&self) -> MutexGuard<'_, T>;
    }

    impl<T> Hold<T> for Mutex<T> {
        fn hold(&self) -> MutexGuard<'_, T> {
            self.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    pub(crate) trait WaitHeld {
        fn wait_held<'a, T>(&self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T>;
        fn wait_held_for<'a, T>(&self, held: MutexGuard<'a, T>, at_most: Duration) -> MutexGuard<'a, T>;
    }

    impl WaitHeld for Condvar {
        fn wait_held<'a, T>(&self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.wait(held).unwrap_or_else(PoisonError::into_inner)
        }

        /// Without a timeout: it would hide a lost wake-up.
        fn wait_held_for<'a, T>(&self, held: MutexGuard<'a, T>, _: Duration) -> MutexGuard<'a, T> {
            self.wait_held(held)
        }
    }
}
