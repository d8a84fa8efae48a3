//! NumPy's `RandomState`: the Mersenne Twister MT19937 and its shuffle.

const N: usize = 624;
const M: usize = 397;

/// `np.random.RandomState(seed)`, limited to what shuffling needs.
#[derive(Debug, Clone)]
pub struct RandomState {
    state: [u32; N],
    at: usize,
}

impl RandomState {
    /// Creates the generator for a seed, as NumPy does.
    pub fn new(seed: u32) -> Self {
        let mut state = [0; N];
        let mut next = seed;
        for (i, place) in state.iter_mut().enumerate() {
            *place = next;
            next = 1_812_433_253u32.wrapping_mul(next ^ (next >> 30)).wrapping_add(i as u32 + 1);
        }
        RandomState { state, at: N }
    }

    fn renew(&mut self) {
        let twist = |upper: u32, lower: u32| {
            let y = (upper & 0x8000_0000) | (lower & 0x7fff_ffff);
            (y >> 1) ^ if y & 1 == 1 { 0x9908_b0df } else { 0 }
        };
        let s = &mut self.state;
        for i in 0..N - M {
            s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
        }
        for i in N - M..N - 1 {
            s[i] = s[i + M - N] ^ twist(s[i], s[i + 1]);
        }
        s[N - 1] = s[M - 1] ^ twist(s[N - 1], s[0]);
        self.at = 0;
    }

    /// Returns the next 32 bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.at >= N {
            self.renew();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Returns a number from 0 to `most`, by rejection sampling.
    #[inline]
    pub fn interval(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let mask = u64::MAX >> most.leading_zeros();
        loop {
            let bits = if most <= u64::from(u32::MAX) {
                u64::from(self.next_u32())
            } else {
                u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
            };
            if bits & mask <= most {
                return bits & mask;
            }
        }
    }

    /// `RandomState.shuffle` for a one-dimensional array.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.interval(i as u64) as usize;
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From NumPy 2.4: `np.random.RandomState(seed)`, `x = np.arange(n)`, `shuffle(x)`, first and last five, and
    /// `int((x * np.arange(1, n + 1) % 1000003).sum())`.
    #[test]
    fn shuffles_are_those_of_numpy() {
        for (seed, n, first, last, sum) in SHUFFLES {
            let mut items: Vec<u32> = (0..n).collect();
            RandomState::new(seed).shuffle(&mut items);
            assert_eq!((&items[..5], &items[items.len() - 5..]), (&first[..], &last[..]), "{seed} {n}");
            let found: u64 =
                (1..).zip(&items).map(|(place, item)| u64::from(*item) * place % 1_000_003).sum();
            assert_eq!(found, sum, "{seed} {n}");
        }
    }

    type Case = (u32, u32, [u32; 5], [u32; 5], u64);
    include!("shuffles.rs");

    #[test]
    fn numbers_are_those_of_the_twister() {
        // The first numbers of MT19937 for seed 5489, and its ten thousandth: the reference values.
        let mut state = RandomState::new(5489);
        assert_eq!([state.next_u32(), state.next_u32()], [3_499_211_612, 581_869_302]);
        let last = (0..9998).fold(0, |_, _| state.next_u32());
        assert_eq!(last, 4_123_659_995);
        assert_eq!(state.interval(0), 0);
        assert!((0..100).all(|_| state.interval(1 << 40) <= 1 << 40));
    }
}
