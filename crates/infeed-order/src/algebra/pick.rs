//! Selects places by a list of indices.

use crate::Below;
use infeed_core::{Error, Order, Result};

/// The listed places of the underlying order, in list order. A place may be listed more than once.
#[derive(Debug)]
pub struct Pick {
    below: Below,
    list: List,
}

/// Stores 32-bit indices where they fit, which is nearly always, to halve the memory.
#[derive(Debug)]
enum List {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Pick {
    /// Picks places by index.
    pub fn new(below: Below, indices: Vec<u64>) -> Result<Self> {
        let places = below.places();
        if let Some((position, index)) = indices.iter().enumerate().find(|(_, index)| **index >= places) {
            let what = format!(
                "index {index} (number {position} in the list) is out of range: there are {places} places, \
                 counted from 0"
            );
            return Err(Error::plan("subset", what));
        }
        // All indices are below `places`, so `places` alone decides whether they fit.
        let list = if places <= 1 << 32 {
            List::Narrow(indices.into_iter().map(|index| index as u32).collect())
        } else {
            List::Wide(indices)
        };
        Ok(Pick { below, list })
    }

    /// Picks the places where the mask is true. It needs one entry per place.
    pub fn mask(below: Below, mask: &[bool]) -> Result<Self> {
        let places = below.places();
        if mask.len() as u64 != places {
            let what = format!("the mask has {} entries for {places} places; give one each", mask.len());
            return Err(Error::plan("subset", what));
        }
        let indices = (0..places).zip(mask).filter_map(|(place, keep)| keep.then_some(place)).collect();
        Pick::new(below, indices)
    }
}

impl Order for Pick {
    fn places(&self) -> u64 {
        match &self.list {
            List::Narrow(list) => list.len() as u64,
            List::Wide(list) => list.len() as u64,
        }
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let Some(last) = self.places().checked_sub(1) else {
            return places.fill(0);
        };
        match &self.list {
            List::Narrow(list) => {
                places.iter_mut().for_each(|place| *place = u64::from(list[(*place).min(last) as usize]));
            }
            List::Wide(list) => {
                places.iter_mut().for_each(|place| *place = list[(*place).min(last) as usize])
            }
        }
        self.below.resolve(epoch, places);
    }

    fn blocks(&self) -> Option<Vec<u64>> {
        let blocks = self.below.blocks()?;
        match &self.list {
            List::Narrow(list) => per_block(list, &blocks),
            List::Wide(list) => per_block(list, &blocks),
        }
    }

    fn is_fixed(&self) -> bool {
        self.below.is_fixed()
    }

    fn describe(&self) -> String {
        format!("{}, {} picked places", self.below.describe(), self.places())
    }
}

/// Returns how many of the indices fall into each block, without empty blocks, or `None` if the indices do not ascend.
fn per_block<T: Copy + Ord + Into<u64>>(list: &[T], blocks: &[u64]) -> Option<Vec<u64>> {
    if !list.is_sorted() {
        return None;
    }
    let (mut start, mut end) = (0, 0u64);
    let mut counts = Vec::new();
    for block in blocks {
        end += block;
        let next = start + list[start..].partition_point(|&index| index.into() < end);
        if next > start {
            counts.push((next - start) as u64);
        }
        start = next;
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sequential, algebra::check::holds};
    use infeed_core::OrderExt;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn rows(blocks: &[u64]) -> Below {
        Arc::new(Sequential::new(0, blocks))
    }

    #[test]
    fn blocks_when_ascending() {
        let blocks = |list: &[u64]| Pick::new(rows(&[3, 2, 4]), list.to_vec()).unwrap().blocks();
        assert_eq!(blocks(&[0, 2, 5, 8, 8]), Some(vec![2, 3]));
        assert_eq!(blocks(&[4, 4]), Some(vec![2]));
        assert_eq!(blocks(&[2, 0]), None);
        assert_eq!(blocks(&[]), Some(vec![]));
    }

    #[test]
    fn says_which_is_out_of_range() {
        let error = Pick::new(rows(&[5]), vec![0, 4, 5]).unwrap_err().to_string();
        assert!(error.contains("index 5 (number 2 in the list)") && error.contains("5 places"), "{error}");
        assert!(Pick::mask(rows(&[5]), &[true; 4]).unwrap_err().to_string().contains("4 entries for 5"));
        let wide = Pick::new(rows(&[1 << 33]), vec![1 << 32, 7]).unwrap();
        assert_eq!(wide.rows(0, 0..9), [1 << 32, 7]);
    }

    proptest! {
        #[test]
        fn the_list_as_it_is(list in prop::collection::vec(0u64..50, 0..200)) {
            holds(&Pick::new(rows(&[20, 30]), list.clone()).unwrap(), 0, &list);
        }

        #[test]
        fn the_mask_in_order(mask in prop::collection::vec(any::<bool>(), 0..100)) {
            let n = mask.len() as u64;
            let expected: Vec<u64> = (0..n).filter(|place| mask[*place as usize]).collect();
            let order = Pick::mask(rows(&[n / 2, n - n / 2]), &mask).unwrap();
            holds(&order, 0, &expected);
            prop_assert_eq!(order.blocks().unwrap().iter().sum::<u64>(), order.places());
        }
    }
}
