//! A shuffle buffer for streams without random access.

use infeed_core::Rng;

/// Random stream: which item leaves the buffer.
const PICKS: u64 = 0x006d_6978_6572;

/// The shuffle buffer of WebDataset: items go into a buffer, and a randomly chosen one comes out.
///
/// Nothing comes out before `initial` items are in. After that, every second item pushed releases one, until the
/// buffer holds `size` items and each releases one. So a stream starts early and still reaches full mixing. The
/// choices depend only on (seed, epoch, number of items released before).
///
/// ```
/// let mut mixer = infeed_order::Mixer::new(3, 2, 17, 0);
/// let mut out: Vec<u64> = (0..10).filter_map(|item| mixer.push(item)).collect();
/// out.extend(std::iter::from_fn(|| mixer.drain()));
/// assert_eq!(out.len(), 10);
/// ```
#[derive(Debug, Clone)]
pub struct Mixer<T> {
    held: Vec<T>,
    size: usize,
    initial: usize,
    /// Whether one item went in since the last release and a second is needed before the next.
    waiting: bool,
    seed: u64,
    epoch: u64,
    given: u64,
}

impl<T> Mixer<T> {
    /// Creates an empty buffer that grows to `size` items (at least 1) and holds back the first
    /// `initial` (at most `size`).
    pub fn new(size: u64, initial: u64, seed: u64, epoch: u64) -> Self {
        let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
        let initial = usize::try_from(initial).unwrap_or(usize::MAX).min(size);
        Mixer { held: Vec::new(), size, initial, waiting: false, seed, epoch, given: 0 }
    }

    /// Pushes an item, and releases one if the buffer is full enough.
    pub fn push(&mut self, item: T) -> Option<T> {
        self.held.push(item);
        self.waiting = !self.waiting && self.held.len() < self.size;
        if self.waiting || self.held.len() < self.initial { None } else { self.drain() }
    }

    /// Releases an item, or returns `None` if the buffer is empty. Call it at the end of the
    /// stream until nothing is left.
    pub fn drain(&mut self) -> Option<T> {
        if self.held.is_empty() {
            return None;
        }
        let pick = Rng::at(self.seed, self.epoch, self.given, PICKS).below(self.held.len() as u64);
        self.given += 1;
        Some(self.held.swap_remove(pick as usize))
    }

    /// Returns the number of items held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_grows_and_stays() {
        let mut mixer = Mixer::new(6, 4, 17, 0);
        let given: Vec<usize> =
            (0..14).map(|item| usize::from(mixer.push(item).is_some()) * 10 + mixer.len()).collect();
        // The tens digit tells whether an item came out, the ones digit how many are held.
        assert_eq!(given, [1, 2, 3, 13, 4, 14, 5, 15, 15, 15, 15, 15, 15, 15]);
    }

    #[test]
    fn a_buffer_of_one_changes_nothing() {
        for size in [0, 1] {
            let mut mixer = Mixer::new(size, 100, 17, 0);
            assert!((0..10).all(|item| mixer.push(item) == Some(item)));
            assert!(mixer.is_empty());
        }
    }

    /// A buffer moves an item by less than its size on average: its known limitation.
    #[test]
    fn items_stay_near() {
        let mut mixer = Mixer::new(100, 100, 3, 0);
        let mut out: Vec<usize> = (0..20_000).filter_map(|item| mixer.push(item)).collect();
        out.extend(std::iter::from_fn(|| mixer.drain()));
        let moved: usize = out.iter().enumerate().map(|(place, item)| place.abs_diff(*item)).sum();
        let mean = moved as f64 / 20_000.0;
        assert!((60.0..90.0).contains(&mean), "{mean}");
    }
}
