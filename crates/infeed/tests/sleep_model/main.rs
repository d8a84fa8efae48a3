//! The engine's protocol of sleeping and waking (`src/engine/sleep`), checked in thousands of schedules: whichever way the
//! threads meet, every batch arrives, nobody sleeps for ever, and nobody is at work while the engine is paused.
//!
//! The protocol is compiled a second time here, over the locks of `shuttle`, which decide at every step which thread goes
//! on and report a deadlock when none can. Batches and pieces are a toy (`board.rs`, `toy.rs`); who sleeps and who
//! is woken is not.

mod board;
#[allow(dead_code)]
#[path = "../../src/engine/sleep/protocol/mod.rs"]
mod protocol;
mod scenarios;
mod toy;

/// In the place of the locks of the standard library.
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

        /// Without an end: a wake-up that is lost must not be hidden by a clock.
        fn wait_held_for<'a, T>(&self, held: MutexGuard<'a, T>, _: Duration) -> MutexGuard<'a, T> {
            self.wait_held(held)
        }
    }
}
