//! Changed copies of good inputs.

/// Numbers that parsers get wrong.
const NUMBERS: [u64; 12] =
    [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];

/// A generator of changes (xorshift). The same seed makes the same changes.
#[derive(Debug)]
pub struct Mutator(u64);

impl Mutator {
    /// A generator of its own for every seed.
    pub fn new(seed: u64) -> Self {
        Mutator(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize % limit.max(1)
    }

    /// Changes `data` in one to four places.
    pub fn change(&mut self, data: &mut Vec<u8>) {
        for _ in 0..1 + self.below(4) {
            if data.is_empty() {
                data.push(self.below(256) as u8);
            }
            let at = self.below(data.len());
            let len = 1 + self.below(32.min(data.len() - at));
            match self.below(8) {
                0 => data[at] ^= 1 << self.below(8),
                1 => data[at] = self.below(256) as u8,
                2 => data.truncate(at),
                3 => drop(data.drain(at..at + len)),
                4 => {
                    let copy = data[at..at + len].to_vec();
                    let to = self.below(data.len());
                    drop(data.splice(to..to, copy));
                }
                5 => {
                    let copy = data[at..at + len].to_vec();
                    let to = self.below(data.len() - len + 1);
                    data[to..to + len].copy_from_slice(&copy);
                }
                _ => {
                    let number = NUMBERS[self.below(NUMBERS.len())];
                    let width = [1, 2, 4, 8][self.below(4)].min(data.len() - at);
                    let bytes = if self.below(2) == 0 {
                        number.to_le_bytes()[..width].to_vec()
                    } else {
                        number.to_be_bytes()[8 - width..].to_vec()
                    };
                    data[at..at + width].copy_from_slice(&bytes);
                }
            }
        }
    }
}
