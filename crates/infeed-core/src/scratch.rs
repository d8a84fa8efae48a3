//! Memory that a worker thread keeps between samples.

use infeed_resample::Resampler;
use std::{
    any::{Any, TypeId},
    fmt,
    time::{Duration, Instant},
};

/// One per worker thread: buffers and decoders that are costly to make and cheap to keep.
pub struct Scratch {
    /// The resampler with its coefficient cache.
    pub resampler: Resampler,
    /// Pixels between decoder and resampler.
    pub pixels: Vec<u8>,
    /// Pixels that were replaced by others: the memory for what the next operation makes.
    pub spare: Vec<u8>,
    /// Time spent decoding since it was last taken; the trace tells decode and pixel work apart with it.
    decoding: Duration,
    kept: Vec<(TypeId, Box<dyn Any + Send>)>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// Empty scratch.
    pub fn new() -> Self {
        Scratch {
            resampler: Resampler::new(),
            pixels: Vec::new(),
            spare: Vec::new(),
            decoding: Duration::ZERO,
            kept: Vec::new(),
        }
    }

    /// The thread's own `T`, made on first use.
    pub fn keep<T: Any + Send, E>(&mut self, make: impl FnOnce() -> Result<T, E>) -> Result<&mut T, E> {
        let id = TypeId::of::<T>();
        let at = match self.kept.iter().position(|(k, _)| *k == id) {
            Some(at) => at,
            None => {
                self.kept.push((id, Box::new(make()?)));
                self.kept.len() - 1
            }
        };
        match self.kept[at].1.downcast_mut::<T>() {
            Some(kept) => Ok(kept),
            None => unreachable!("kept values are stored under their own type"),
        }
    }

    /// Runs `work` and counts its time as decoding.
    pub fn decoding<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let out = work(self);
        self.decoding += start.elapsed();
        out
    }

    /// Time spent decoding since the last call.
    pub fn take_decoding(&mut self) -> Duration {
        std::mem::take(&mut self.decoding)
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").field("pixels", &self.pixels.capacity()).finish_non_exhaustive()
    }
}
