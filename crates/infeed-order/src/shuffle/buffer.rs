//! The order that a shuffle buffer makes of a stream, worked out ahead.

use super::Mixer;
use crate::{Below, recent::Recent};
use infeed_core::{Error, Order, Result};

/// Lists that are kept: the epoch being read and the one being prefetched.
const EPOCHS: usize = 2;

/// What comes out of a [`Mixer`] when all places go in, one after the other.
///
/// A buffer cannot be addressed: what stands at a place depends on everything before it. So the whole epoch is worked
/// out when it is first asked for, and held: 4 bytes per row and epoch (8 beyond 2^32 rows), for two epochs. It exists
/// to compare with, and for those who want exactly this behaviour; [`BlockShuffle`](crate::BlockShuffle) mixes better for less.
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
    /// Sends an order through a buffer of `size` rows that gives nothing before it holds `initial` (at most `size`).
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
