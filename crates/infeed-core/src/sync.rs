//! Locks that survive a panic.
//!
//! A panic of one sample is caught and becomes an error, so a lock that was held at that moment must stay usable: what it
//! guards is changed in single steps and is whole between them. These helpers are the one place where a poisoned lock is
//! taken all the same.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Taking a [`Mutex`], poisoned or not.
pub trait Hold<T: ?Sized> {
    /// Waits for the lock and holds it.
    fn hold(&self) -> MutexGuard<'_, T>;

    /// What the lock guards, when nobody else can hold it any more.
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
    /// Lets go of the lock, sleeps until woken, and holds the lock again.
    fn wait_held<'a, T>(&self, held: MutexGuard<'a, T>) -> MutexGuard<'a, T>;

    /// The same for at most a while.
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
