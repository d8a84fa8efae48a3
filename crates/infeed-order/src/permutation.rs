//! A keyed permutation of `0..n` that does not store n numbers.
//!
//! Large n: a Feistel network over the smallest number of bits that holds n, with cycle walking until the result
//! falls below n (fewer than two steps on average). Small n: a Feistel network over few bits is visibly uneven, and a
//! list is cheap, so a Fisher-Yates shuffle is stored instead.

use infeed_core::rng::{Rng, mix};

/// Up to this size the permutation is stored as a list: 256 KiB at most.
const LIST: u64 = 1 << 16;
const ROUNDS: usize = 8;

/// A permutation of `0..n` chosen by (seed, epoch).
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    kind: Stored,
}

#[derive(Debug, Clone)]
enum Stored {
    List(Vec<u32>),
    Feistel { left: u32, right: u32, keys: [u64; ROUNDS] },
}

impl Permutation {
    /// The permutation of `n` numbers for this seed and epoch.
    pub fn new(n: u64, seed: u64, epoch: u64) -> Self {
        let mut rng = Rng::at(seed, epoch, n, 0x006f_7264_6572);
        if n <= LIST {
            let mut list: Vec<u32> = (0..n as u32).collect();
            for i in (1..list.len()).rev() {
                list.swap(i, rng.below(i as u64 + 1) as usize);
            }
            return Permutation { n, kind: Stored::List(list) };
        }
        let bits = 64 - (n - 1).leading_zeros();
        let keys = std::array::from_fn(|_| rng.next_u64());
        Permutation { n, kind: Stored::Feistel { left: bits / 2, right: bits - bits / 2, keys } }
    }

    /// Returns the image of `place`, which must be below n.
    pub fn at(&self, place: u64) -> u64 {
        match &self.kind {
            Stored::List(list) => list.get(place as usize).copied().map_or(0, u64::from),
            Stored::Feistel { left, right, keys } => walk(place, self.n, *left, *right, keys),
        }
    }

    /// Replaces each place by its image.
    pub fn resolve(&self, places: &mut [u64]) {
        match &self.kind {
            Stored::List(list) => {
                for place in places {
                    *place = list.get(*place as usize).copied().map_or(0, u64::from);
                }
            }
            Stored::Feistel { left, right, keys } => walk_all(places, self.n, *left, *right, keys),
        }
    }
}

/// Number of places computed side by side, to hide the latency of the multiplications of a single one.
const LANES: usize = 8;

/// [`walk`] for many places: all take one step, then those outside the domain take another, and so on.
fn walk_all(places: &mut [u64], n: u64, left: u32, right: u32, keys: &[u64; ROUNDS]) {
    places.iter_mut().for_each(|place| *place = (*place).min(n - 1));
    step_all(places, left, right, keys);
    let mut out: Vec<usize> = (0..places.len()).filter(|at| places[*at] >= n).collect();
    let mut again: Vec<u64> = Vec::with_capacity(out.len());
    while !out.is_empty() {
        again.clear();
        again.extend(out.iter().map(|at| places[*at]));
        step_all(&mut again, left, right, keys);
        for (at, place) in out.iter().zip(&again) {
            places[*at] = *place;
        }
        out.retain(|at| places[*at] >= n);
    }
}

fn step_all(places: &mut [u64], left: u32, right: u32, keys: &[u64; ROUNDS]) {
    let (lanes, rest) = places.as_chunks_mut::<LANES>();
    for lane in lanes {
        let mut l = lane.map(|x| x >> right);
        let mut r = lane.map(|x| x & ((1 << right) - 1));
        for pair in keys.chunks_exact(2) {
            for i in 0..LANES {
                l[i] ^= mix(r[i] ^ pair[0]) >> (64 - left);
            }
            for i in 0..LANES {
                r[i] ^= mix(l[i] ^ pair[1]) >> (64 - right);
            }
        }
        for i in 0..LANES {
            lane[i] = l[i] << right | r[i];
        }
    }
    for place in rest {
        *place = feistel(*place, left, right, keys);
    }
}

/// Walks the cycle of the permutation of the larger domain until the result is below n. From a place below n
/// this always ends, and two places never get the same result. From any other place it might not end, so
/// places are clamped first.
fn walk(place: u64, n: u64, left: u32, right: u32, keys: &[u64; ROUNDS]) -> u64 {
    let mut x = place.min(n - 1);
    loop {
        x = feistel(x, left, right, keys);
        if x < n {
            return x;
        }
    }
}

fn feistel(x: u64, left: u32, right: u32, keys: &[u64; ROUNDS]) -> u64 {
    let (mut l, mut r) = (x >> right, x & ((1 << right) - 1));
    for pair in keys.chunks_exact(2) {
        l ^= mix(r ^ pair[0]) >> (64 - left);
        r ^= mix(l ^ pair[1]) >> (64 - right);
    }
    l << right | r
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_beyond_a_large_end_are_the_last_one() {
        for n in [65_537, 1 << 40] {
            let permutation = Permutation::new(n, 7, 1);
            let last = permutation.at(n - 1);
            let mut beyond = [n, n + 1, u64::MAX];
            assert_eq!(beyond.map(|place| permutation.at(place)), [last; 3]);
            permutation.resolve(&mut beyond);
            assert_eq!(beyond, [last; 3]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn every_number_once(n in 1u64..200_000, seed in any::<u64>(), epoch in 0u64..5) {
            let permutation = Permutation::new(n, seed, epoch);
            let mut seen = vec![false; n as usize];
            for place in 0..n {
                let row = permutation.at(place) as usize;
                prop_assert!(!std::mem::replace(&mut seen[row], true), "{row} came twice");
            }
        }

        #[test]
        fn many_at_once_are_as_one_by_one(n in 65_537u64..(1 << 48), seed in any::<u64>(), count in 0usize..50) {
            let permutation = Permutation::new(n, seed, 1);
            let places: Vec<u64> = (0..count as u64).map(|i| i * (n / 50)).collect();
            let mut rows = places.clone();
            permutation.resolve(&mut rows);
            prop_assert_eq!(rows, places.iter().map(|p| permutation.at(*p)).collect::<Vec<_>>());
        }

        #[test]
        fn huge_ones_stay_inside(n in (1u64 << 40)..(1u64 << 48), place in any::<u64>()) {
            let permutation = Permutation::new(n, 1, 0);
            prop_assert!(permutation.at(place % n) < n);
        }
    }

    /// Chi-square over the first element of tiny permutations: each must lead equally often.
    #[test]
    fn tiny_ones_are_even() {
        let mut counts = [0f64; 10];
        for seed in 0..20_000 {
            counts[Permutation::new(10, seed, 0).at(0) as usize] += 1.0;
        }
        let chi: f64 = counts.iter().map(|c| (c - 2000.0).powi(2) / 2000.0).sum();
        assert!(chi < 27.9, "chi-square {chi} over 9 degrees of freedom (p = 0.001)");
    }

    /// Neighbours in the order must be far apart on average, as in a true shuffle (a third of n).
    #[test]
    fn large_ones_mix() {
        let n = 1_000_000;
        let permutation = Permutation::new(n, 5, 0);
        let mean =
            (0..100_000).map(|p| permutation.at(p).abs_diff(permutation.at(p + 1)) as f64).sum::<f64>() / 1e5;
        assert!((mean / n as f64 - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }
}
