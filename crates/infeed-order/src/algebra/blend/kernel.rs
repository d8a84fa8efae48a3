//! Computes the choices of a blend one after the other, as fast as possible without changing any.
//!
//! A plain loop compares floats. The winner is unpredictable, and a branch misprediction costs more than the
//! arithmetic. Integers can be compared and selected without branches, so for up to eight parts the errors
//! are kept as exact integers:
//!
//! * Once every `w * i` is at least 1, it is a multiple of 2^-52, and so is the error, so its subtraction is exact.
//!   Times 2^55 the error is an integer that fits into 64 bits, with three zero bits at the bottom.
//! * These three bits hold `7 - part`. The largest key is then the largest error, the first part wins ties, and the
//!   key itself tells which part it is.
//! * `w * i` times 2^55 is the float's bits shifted left, plus a constant that is fixed while the exponent is. The
//!   bits shifted out are a multiple of 2^64, so in wrapping arithmetic the difference to `used` is still correct.
//!
//! A piece in which an exponent changes, or which fails another condition, is computed with floats.

/// The number of a part, in as few bits as necessary.
pub(super) trait Tag: Copy + PartialEq + Default {
    /// Converts from a number that fits.
    fn of(part: usize) -> Self;
    /// Returns the number.
    fn part(self) -> usize;
}

macro_rules! tag {
    ($($kind:ty),*) => {$(
        impl Tag for $kind {
            fn of(part: usize) -> Self {
                part as $kind
            }
            fn part(self) -> usize {
                self as usize
            }
        }
    )*};
}
tag!(u8, u16, i16);

/// Choices per piece. The count of a part within a piece must fit into the nine bits above the fraction of a key.
const PIECE: usize = 256;
const ONE: i64 = 1 << 55;

/// The state of a blend at a place.
#[derive(Debug, Clone)]
pub(super) struct Mixer {
    weights: Vec<f64>,
    used: Vec<f64>,
    next: u64,
    /// Whether the weights add up to 1, so that errors stay small.
    fair: bool,
    errors: Vec<f64>,
}

impl Mixer {
    /// Creates the state at place `next`, given how often each part has been used.
    pub(super) fn at(weights: &[f64], used: &[u64], next: u64) -> Self {
        let fair = (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12;
        let used = used.iter().map(|used| *used as f64).collect();
        Mixer { weights: weights.to_vec(), used, next, fair, errors: Vec::new() }
    }

    /// Returns how often each part has been used.
    pub(super) fn used(&self) -> impl Iterator<Item = u64> {
        self.used.iter().map(|used| *used as u64)
    }

    /// Computes the next choices.
    pub(super) fn fill<T: Tag>(&mut self, tags: &mut [T]) {
        for piece in tags.chunks_mut(PIECE) {
            match self.weights.len() {
                1 => self.few::<1, T>(piece),
                2 => self.few::<2, T>(piece),
                3 => self.few::<3, T>(piece),
                4 => self.few::<4, T>(piece),
                5 => self.few::<5, T>(piece),
                6 => self.few::<6, T>(piece),
                7 => self.few::<7, T>(piece),
                8 => self.few::<8, T>(piece),
                _ => self.many(piece),
            }
            self.next += piece.len() as u64;
        }
    }

    fn few<const N: usize, T: Tag>(&mut self, tags: &mut [T]) {
        let weights: [f64; N] = std::array::from_fn(|part| self.weights[part]);
        let mut used: [f64; N] = std::array::from_fn(|part| self.used[part]);
        if !(self.fair && integers(&weights, &mut used, self.next, tags)) {
            floats(&weights, &mut used, self.next, tags);
        }
        self.used.copy_from_slice(&used);
    }

    /// For any number of parts: computes errors and their maximum in one vectorisable loop, then
    /// searches for the maximum.
    fn many<T: Tag>(&mut self, tags: &mut [T]) {
        self.errors.resize(self.weights.len().next_multiple_of(8), f64::NEG_INFINITY);
        for (i, tag) in tags.iter_mut().enumerate() {
            let place = position(self.next, i);
            for ((error, weight), used) in self.errors.iter_mut().zip(&self.weights).zip(&self.used) {
                *error = weight * place - used;
            }
            let mut most = [f64::NEG_INFINITY; 8];
            for errors in self.errors.chunks_exact(8) {
                for (most, error) in most.iter_mut().zip(errors) {
                    *most = if *error > *most { *error } else { *most };
                }
            }
            let most = most.into_iter().fold(f64::NEG_INFINITY, f64::max);
            let part = self.errors.iter().position(|error| *error == most).unwrap_or(0);
            *tag = T::of(part);
            self.used[part] += 1.0;
        }
    }
}

/// `max(i, 1)`, where `i` is `offset` places after `start`.
fn position(start: u64, offset: usize) -> f64 {
    ((start + offset as u64) as f64).max(1.0)
}

/// The definition, implemented literally.
fn floats<const N: usize, T: Tag>(weights: &[f64; N], used: &mut [f64; N], start: u64, tags: &mut [T]) {
    for (i, tag) in tags.iter_mut().enumerate() {
        let place = position(start, i);
        let (mut part, mut most) = (0, weights[0] * place - used[0]);
        for other in 1..N {
            let error = weights[other] * place - used[other];
            let better = error > most;
            part = if better { other } else { part };
            most = if better { error } else { most };
        }
        *tag = T::of(part);
        for (other, used) in used.iter_mut().enumerate() {
            *used += f64::from(u8::from(other == part));
        }
    }
}

/// Same as [`floats`], with integers. Does nothing and returns false where that would not be exact.
fn integers<const N: usize, T: Tag>(
    weights: &[f64; N],
    used: &mut [f64; N],
    start: u64,
    tags: &mut [T],
) -> bool {
    let (first, end) = (start as f64, (start + tags.len() as u64) as f64);
    let mut shifts = [0; N];
    // The difference between a key and the shifted bits of `w * i`.
    let mut beyond = [0i64; N];
    for part in 0..N {
        let share = weights[part] * first;
        let exponent = share.to_bits() >> 52;
        let error = share - used[part];
        // 1023 is the exponent of 1, 1083 that of 2^60. The sum of all errors is about 0 and the chosen one is the
        // largest, so none gets below -1 or above the number of parts: 64 is far from both.
        let exact = (1023..1083).contains(&exponent) && exponent == (weights[part] * end).to_bits() >> 52;
        if !exact || error.abs() > 64.0 {
            return false;
        }
        shifts[part] = (exponent - 1020) as u32;
        let key = (error * ONE as f64) as i64 + (7 - part as i64);
        beyond[part] = key.wrapping_sub((share.to_bits() << shifts[part]) as i64);
    }
    let before = beyond;
    let mut place = first;
    for tag in tags {
        let keys: [i64; N] = std::array::from_fn(|part| {
            beyond[part].wrapping_add(((weights[part] * place).to_bits() << shifts[part]) as i64)
        });
        let most = keys.iter().fold(keys[0], |most, key| most.max(*key));
        for part in 0..N {
            let less = beyond[part].wrapping_sub(ONE);
            beyond[part] = if keys[part] == most { less } else { beyond[part] };
        }
        *tag = T::of(7 - (most & 7) as usize);
        place += 1.0;
    }
    for part in 0..N {
        used[part] += (before[part].wrapping_sub(beyond[part]) as u64 >> 55) as f64;
    }
    true
}
