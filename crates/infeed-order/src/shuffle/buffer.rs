//! The order that a shuffle buffer produces from a stream, precomputed.

use super::Mixer;
use crate::{Below, recent::Recent};
use infeed_core::{Error, Order, Recurrence, Result};

/// Number of lists that are cached: the epoch being read and the one being prefetched.
const EPOCHS: usize = 2;

/// The output of a [`Mixer`] that is given all places in sequence.
///
/// A shuffle buffer has no random access: each place depends on everything before it. So the whole epoch is computed
/// on first use and stored: 4 bytes per row (8 beyond 2^32 rows) for each of two epochs. It exists for comparison and
/// for users who want exactly this behaviour; [`Block`](crate::Block) mixes better at lower cost.
#[derive(Debug)]
pub struct Buffer {
    below: Below,
    seed: u64,
    size: u64,
    initial: u64,
    epochs: Recent<u64, List>,
}

#[derive(Debug)]
enum List {
    Short(Vec<u32>),
    Long(Vec<u64>),
}

impl Buffer {
    /// Passes an order through a buffer of `size` rows that yields nothing before it holds `initial` (at most `size`).
    pub fn new(below: Below, seed: u64, size: u64, initial: u64) -> Result<Self> {
        if size == 0 {
            return Err(Error::plan("shuffle", "a buffer of 0 rows holds nothing; take at least 1"));
        }
        Ok(Buffer { below, seed, size, initial, epochs: Recent::new(EPOCHS) })
    }

    fn list(&self, epoch: u64) -> List {
        let places = self.places();
        if u32::try_from(places).is_ok() {
            List::Short(self.mixed(epoch, 0..places as u32))
        } else {
            List::Long(self.mixed(epoch, 0..places))
        }
    }

    fn mixed<T>(&self, epoch: u64, places: impl Iterator<Item = T>) -> Vec<T> {
        let mut mixer = Mixer::new(self.size, self.initial, self.seed, epoch);
        let mut list = Vec::with_capacity(places.size_hint().0);
        list.extend(places.filter_map(|place| mixer.push(place)));
        list.extend(std::iter::from_fn(|| mixer.drain()));
        list
    }
}

impl Order for Buffer {
    fn places(&self) -> u64 {
        self.below.places()
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let Some(last) = self.places().checked_sub(1) else { return };
        match &*self.epochs.get(epoch, || self.list(epoch)) {
            List::Short(list) => {
                places.iter_mut().for_each(|place| *place = u64::from(list[(*place).min(last) as usize]));
            }
            List::Long(list) => {
                places.iter_mut().for_each(|place| *place = list[(*place).min(last) as usize]);
            }
        }
        self.below.resolve(epoch, places);
    }

    /// All rows of an epoch are mixed among themselves.
    fn recurrence(&self) -> Recurrence {
        self.below.recurrence()
    }

    fn describe(&self) -> String {
        let initial = self.initial.min(self.size);
        format!(
            "{}, buffer shuffle ({} rows, {initial} before the first, seed {})",
            self.below.describe(),
            self.size,
            self.seed
        )
    }
}
