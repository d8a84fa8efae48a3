//! The first part of an order, given as a fraction of it.

use super::Slice;
use crate::Below;
use infeed_core::{Error, Order, Result};

/// Returns the first `share` of the places, rounded to the nearest whole number (halves up).
pub fn fraction(below: Below, share: f64) -> Result<Slice> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::plan("subset", format!("{share} is no fraction; give a number from 0 to 1")));
    }
    let count = (below.places() as f64 * share).round() as u64;
    Ok(Slice::take(below, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequential;
    use std::sync::Arc;

    #[test]
    fn rounds_to_the_nearest() {
        let places = |n, share| fraction(Arc::new(Sequential::of(n)), share).map(|order| order.places());
        assert_eq!(places(10, 0.25).unwrap(), 3);
        assert_eq!(places(10, 0.24).unwrap(), 2);
        assert_eq!(places(10, 0.0).unwrap(), 0);
        assert_eq!(places(u64::MAX, 1.0).unwrap(), u64::MAX);
        for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(places(10, wrong).unwrap_err().to_string().contains("no fraction"));
        }
    }
}
