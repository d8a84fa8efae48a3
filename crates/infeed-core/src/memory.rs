//! Memory whose size comes from data: limited per sample, and allocated so that failure is an error.
//!
//! A file can claim any size. So every size that is read from data goes through [`Budget`] (through
//! [`Scratch::claim`](crate::Scratch::claim), where there is a scratch) before memory is allocated for it, and is
//! allocated with the functions here, which return an error where `vec![]` would abort the process.
//!
//! Two rules keep the total bounded without making any result depend on timing:
//! * One sample may take at most [`Budget::limit`] bytes. Whether it is refused depends on the sample alone.
//! * Samples above [`SMALL`] are made one at a time. A worker takes a permit at its first large claim and returns it at
//!   the end of the sample. The holder waits for nothing that needs the permit, so nothing can deadlock.

use crate::{Error, Hold, Result, WaitHeld};
use std::sync::{Arc, Condvar, Mutex};

/// Samples up to this size never wait for each other, and scratch memory up to this size is kept.
pub const SMALL: u64 = 64 << 20;

/// The limit of one sample when none is given.
pub const DEFAULT_LIMIT: u64 = 2 << 30;

/// What the samples of one loader may take.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    taken: Mutex<bool>,
    free: Condvar,
}

impl Default for Budget {
    fn default() -> Self {
        Budget::new(DEFAULT_LIMIT)
    }
}

impl Budget {
    /// A budget that allows `limit` bytes for one sample.
    pub fn new(limit: u64) -> Self {
        Budget { limit, taken: Mutex::new(false), free: Condvar::new() }
    }

    /// Most bytes of one sample.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Checks a size that data claims.
    pub fn check(&self, bytes: u64) -> Result<()> {
        if bytes <= self.limit {
            return Ok(());
        }
        Err(Error::sample(format!(
            "it would take {} of memory, more than the {} that one sample may have; raise memory= if the data is right",
            readable(bytes),
            readable(self.limit),
        )))
    }

    /// Waits until no other large sample is being made.
    pub fn permit(self: &Arc<Self>) -> Permit {
        let mut taken = self.taken.hold();
        while *taken {
            taken = self.free.wait_held(taken);
        }
        *taken = true;
        Permit { budget: Arc::clone(self) }
    }
}

/// The right to make a large sample; returned when dropped.
#[derive(Debug)]
pub struct Permit {
    budget: Arc<Budget>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.budget.taken.hold() = false;
        self.budget.free.notify_one();
    }
}

/// A size for people, in binary units.
pub fn readable(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.max(1).ilog2() / 10) as usize;
    if unit == 0 {
        format!("{bytes} bytes")
    } else {
        format!("{:.1} {}", bytes as f64 / (1u64 << (10 * unit)) as f64, UNITS[unit])
    }
}

pub(crate) fn refused(bytes: usize) -> Error {
    Error::sample(format!("the system has no memory for {} more", readable(bytes as u64)))
}

/// Room for `more` further elements.
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve(more).map_err(|_| refused(more.saturating_mul(size_of::<T>())))
}

/// Room for exactly `more` further elements.
pub fn reserve_exact<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve_exact(more).map_err(|_| refused(more.saturating_mul(size_of::<T>())))
}

/// An empty vector with room for `n` elements.
pub fn with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    reserve_exact(&mut vec, n)?;
    Ok(vec)
}

/// `n` elements of the default value. The memory is written; for large buffers that are overwritten anyway, keep and reuse one.
pub fn zeroed<T: Default + Clone>(n: usize) -> Result<Vec<T>> {
    let mut vec = with_capacity(n)?;
    vec.resize(n, T::default());
    Ok(vec)
}

/// Makes `vec` exactly `n` elements long; new ones have the default value.
pub fn resize<T: Default + Clone>(vec: &mut Vec<T>, n: usize) -> Result<()> {
    reserve(vec, n.saturating_sub(vec.len()))?;
    vec.resize(n, T::default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, thread, time::Duration};

    #[test]
    fn refuses_what_is_above_the_limit() {
        let budget = Budget::new(1000);
        budget.check(1000).unwrap();
        let text = budget.check(9 << 40).unwrap_err().to_string();
        assert!(
            text.contains("9.0 TiB") && text.contains("1000 bytes") && text.contains("memory="),
            "{text}"
        );
    }

    #[test]
    fn large_samples_are_made_one_at_a_time() {
        let budget = Arc::new(Budget::default());
        let first = budget.permit();
        let (tell, told) = mpsc::channel();
        let other = Arc::clone(&budget);
        let waiting = thread::spawn(move || {
            let _second = other.permit();
            tell.send(()).unwrap();
        });
        assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
        drop(first);
        told.recv().unwrap();
        waiting.join().unwrap();
    }

    #[test]
    fn impossible_sizes_are_errors() {
        assert!(with_capacity::<u64>(usize::MAX / 2).is_err());
        assert!(zeroed::<u8>(isize::MAX as usize).is_err());
        assert!(resize(&mut vec![1u8], isize::MAX as usize).is_err());
        assert_eq!(readable(u64::MAX), "16.0 EiB");
        assert_eq!(readable(0), "0 bytes");
    }
}
