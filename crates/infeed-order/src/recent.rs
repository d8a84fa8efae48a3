//! A small cache of recently computed values, for orders.

use infeed_core::Hold;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// Caches the most recently used values, up to a number the owner sets. Every value can be recomputed at any time.
#[derive(Debug)]
pub(crate) struct Recent<K, T> {
    most: usize,
    made: Mutex<VecDeque<(K, Arc<T>)>>,
}

impl<K: PartialEq, T> Recent<K, T> {
    /// Caches at most `most` values, at least one.
    pub(crate) fn new(most: usize) -> Self {
        Recent { most: most.max(1), made: Mutex::new(VecDeque::new()) }
    }

    /// Returns the value of the key, computing it if it is missing. Computes under the lock, so that threads asking
    /// for the same key at once compute it once.
    pub(crate) fn get(&self, key: K, make: impl FnOnce() -> T) -> Arc<T> {
        let mut made = self.made.hold();
        let found = made.iter().position(|(k, _)| *k == key).and_then(|at| made.remove(at));
        let entry = found.unwrap_or_else(|| (key, Arc::new(make())));
        let thing = Arc::clone(&entry.1);
        if made.len() == self.most {
            made.pop_front();
        }
        made.push_back(entry);
        thing
    }

    /// Returns the value of the key if it is there.
    pub(crate) fn find(&self, key: &K) -> Option<Arc<T>> {
        self.made.hold().iter().find(|(k, _)| k == key).map(|(_, thing)| Arc::clone(thing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_is_used() {
        let recent = Recent::new(2);
        assert_eq!(*recent.get(1, || 10), 10);
        assert_eq!(*recent.get(2, || 20), 20);
        assert_eq!(*recent.get(1, || 11), 10);
        assert_eq!(*recent.get(3, || 30), 30);
        assert_eq!(*recent.get(1, || 12), 10, "was used after 2, so 2 had to go");
        assert_eq!(*recent.get(2, || 21), 21);
    }
}
