//! Addressed random numbers: they depend on (seed, epoch, row, stage) and on nothing else.
//!
//! The generator is frozen: changing it would change every user's augmentations, so its outputs are pinned by a test
//! and a change is breaking. It is SplitMix64 started from a mixed key, cheap enough to create one per sample and
//! stage.

/// A small generator for one sample and one stage.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

/// Spreads every input bit over all output bits (the finaliser of SplitMix64).
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// Creates the generator at an address.
    pub const fn at(seed: u64, epoch: u64, row: u64, stage: u64) -> Self {
        let mut key = mix(seed.wrapping_add(STEP));
        key = mix(key ^ epoch.wrapping_mul(STEP).wrapping_add(1));
        key = mix(key ^ row.wrapping_mul(STEP).wrapping_add(2));
        key = mix(key ^ stage.wrapping_mul(STEP).wrapping_add(3));
        Rng { state: key }
    }

    /// Returns 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Returns a number in `0.0..1.0` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number in `low..high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a number in `0..n` without bias; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        // Multiply-shift; the few values that would be drawn too often are rejected.
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            let low = wide as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Returns `true` with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned() {
        let mut rng = Rng::at(17, 3, 41_000, 2);
        let got: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(got, PINNED, "the random stream changed: every user's augmentations would change with it");
    }

    const PINNED: [u64; 3] =
        [4_210_097_383_321_392_252, 13_598_671_857_632_923_163, 10_710_817_922_723_781_780];

    #[test]
    fn below_is_even() {
        let mut counts = [0u32; 6];
        let mut rng = Rng::at(1, 0, 0, 0);
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_600..10_400).contains(c)), "{counts:?}");
    }

    #[test]
    fn neighbours_differ() {
        let first = |row, stage| Rng::at(0, 0, row, stage).unit();
        let mean: f64 = (0..10_000).map(|r| (first(r, 0) - first(r + 1, 0)).abs()).sum::<f64>() / 10_000.0;
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
        assert_ne!(first(5, 0).to_bits(), first(5, 1).to_bits());
    }
}
