//! Locks that ignore poisoning.
//!
//! A panic of one sample is caught and becomes an error, so a lock that was held at that moment must stay usable: what it
//! guards is changed in single steps and is consistent between them. These helpers are the one place where poisoned
//! locks are acquired.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Locking of a [`Mutex`], poisoned or not.
pub trait Hold<T: ?Sized> {
    /// Acquires the lock, blocking until it is free.
    fn hold(&self) -> MutexGuard<'_, T>;

    /// Returns the guarded value; consumes the lock.
    fn into_held(self) -> T
    where
        Self: Sized,
        T: Sized;
}

impl<T: ?Sized> Hold<T> for Mutex<T> {
    fn hold(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_held(self) -> T
    where
        T: Sized,
    {
        self.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waiting on a [`Condvar`], whether or not the lock was poisoned meanwhile.
pub trait WaitHeld {
    /// Releases the lock, sleeps until woken, and acquires the lock again.
    fn wait_held<'a, T>(&self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T>;

    /// Like [`WaitHeld::wait_held`], with a timeout.
    fn wait_held_for<'a, T>(&self, held: MutexGuard<'a, T>, at_most: Duration) -> MutexGuard<'a, T>;
}

impl WaitHeld for Condvar {
    fn wait_held<'a, T>(&self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.wait(held).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_held_for<'a, T>(&self, held: MutexGuard<'a, T>, at_most: Duration) -> MutexGuard<'a, T> {
        self.wait_timeout(held, at_most).unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_survives_a_panic() {
        let lock = Mutex::new(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = lock.hold();
            panic!("while it is held");
        }));
        assert!(panicked.is_err() && lock.is_poisoned());
        *lock.hold() += 1;
        assert_eq!(lock.into_held(), 2);
    }
}
