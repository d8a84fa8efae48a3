//! What an order works out and keeps for a while: few things, of any key.

use infeed_core::Hold;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// Keeps the things that were asked for last; the owner says how many. Only a memo: everything in it can be made again at
/// any time.
#[derive(Debug)]
pub(crate) struct Recent<K, T> {
    most: usize,
    made: Mutex<VecDeque<(K, Arc<T>)>>,
}

impl<K: PartialEq, T> Recent<K, T> {
    /// Keeps at most `most` things, at least one.
    pub(crate) fn new(most: usize) -> Self {
        Recent { most: most.max(1), made: Mutex::new(VecDeque::new()) }
    }

    /// What belongs to the key, made when it is not there. Made under the lock, so that threads that ask for the same
    /// thing at once make it once.
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
