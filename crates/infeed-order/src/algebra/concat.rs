//! Concatenation of orders.

use super::group;
use crate::Below;
use infeed_core::{Error, Order, Recurrence, Result};

/// All places of the first part, then all of the second, and so on.
#[derive(Debug)]
pub struct Concat {
    parts: Vec<Below>,
    /// Where each part starts, followed by the end of the last part.
    starts: Vec<u64>,
}

impl Concat {
    /// Concatenates orders.
    pub fn new(parts: Vec<Below>) -> Result<Self> {
        if parts.is_empty() {
            return Err(Error::plan("concat", "there is nothing to concatenate; give at least one part"));
        }
        let mut starts = vec![0u64];
        let mut end = 0u64;
        for part in &parts {
            end = end.checked_add(part.places()).ok_or_else(|| {
                Error::plan("concat", "the parts have more than 2^64 places together; take fewer of them")
            })?;
            starts.push(end);
        }
        Ok(Concat { parts, starts })
    }
}

impl Order for Concat {
    fn places(&self) -> u64 {
        self.starts[self.parts.len()]
    }

    fn resolve(&self, epoch: u64, places: &mut [u64]) {
        let Some(last) = self.places().checked_sub(1) else {
            return places.fill(0);
        };
        let mut whom = Vec::with_capacity(places.len());
        let mut part = 0;
        for place in places.iter_mut() {
            let at = (*place).min(last);
            // Consecutive places are mostly in the same part.
            if at < self.starts[part] || at >= self.starts[part + 1] {
                part = self.starts.partition_point(|start| *start <= at) - 1;
            }
            *place = at - self.starts[part];
            whom.push((part as u32, epoch));
        }
        group::ask(&self.parts, &whom, places);
    }

    fn blocks(&self) -> Option<Vec<u64>> {
        let blocks: Option<Vec<Vec<u64>>> = self.parts.iter().map(|part| part.blocks()).collect();
        Some(blocks?.concat())
    }

    fn is_fixed(&self) -> bool {
        self.parts.iter().all(|part| part.is_fixed())
    }

    /// Parts may have rows in common.
    fn recurrence(&self) -> Recurrence {
        let own = self.parts.iter().any(|part| part.recurrence() == Recurrence::Own);
        if own { Recurrence::Own } else { Recurrence::Same }
    }

    fn describe(&self) -> String {
        format!("one after the other: {}", group::describe(&self.parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Global, Sequential, algebra::check::holds};
    use proptest::prelude::*;
    use std::sync::Arc;

    #[test]
    fn blocks_follow_unless_one_part_is_shuffled() {
        let part = |blocks: &[u64]| -> Below { Arc::new(Sequential::new(0, blocks)) };
        let order = Concat::new(vec![part(&[2, 3]), part(&[]), part(&[4])]).unwrap();
        assert_eq!(order.blocks(), Some(vec![2, 3, 4]));
        let order = Concat::new(vec![part(&[2]), Arc::new(Global::new(part(&[3]), 1))]).unwrap();
        assert_eq!(order.blocks(), None);
        assert!(Concat::new(vec![]).unwrap_err().to_string().contains("nothing to concatenate"));
        assert!(Concat::new(vec![part(&[u64::MAX]), part(&[1])]).is_err());
        assert_eq!(Concat::new(vec![part(&[])]).unwrap().places(), 0);
    }

    proptest! {
        #[test]
        fn rows_of_all_parts(lengths in prop::collection::vec(0u64..40, 1..20)) {
            let mut parts: Vec<Below> = vec![];
            let mut expected = vec![];
            for (number, &length) in lengths.iter().enumerate() {
                let first = 1000 * number as u64;
                parts.push(Arc::new(Sequential::new(first, [length])));
                expected.extend(first..first + length);
            }
            holds(&Concat::new(parts).unwrap(), 0, &expected);
        }
    }
}
