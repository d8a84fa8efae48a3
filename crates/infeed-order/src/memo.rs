//! What an order works out once per epoch.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Epochs that are kept: the one being read, the next one being prefetched, and some for orders that mix epochs.
const KEPT: usize = 8;

/// Remembers what was made for the last few epochs. Only a memo: everything in it can be made again at any time.
#[derive(Debug)]
pub struct Memo<T> {
    made: Mutex<VecDeque<(u64, Arc<T>)>>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo { made: Mutex::new(VecDeque::new()) }
    }
}

impl<T> Memo<T> {
    /// What belongs to the epoch, made when it is not there.
    pub fn get(&self, epoch: u64, make: impl FnOnce() -> T) -> Arc<T> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = made.iter().find(|(e, _)| *e == epoch) {
            return Arc::clone(found);
        }
        let new = Arc::new(make());
        if made.len() == KEPT {
            made.pop_front();
        }
        made.push_back((epoch, Arc::clone(&new)));
        new
    }
}
