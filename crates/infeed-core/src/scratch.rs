//! Memory that a worker thread keeps between samples.

use crate::{
    Budget, Result,
    memory::{Permit, SMALL},
};
use infeed_resample::Resampler;
use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

/// Buffers and decoders that are expensive to create and cheap to keep: one per worker thread.
pub struct Scratch {
    /// The resampler with its coefficient cache.
    pub resampler: Resampler,
    /// Pixels between decoder and resampler.
    pub pixels: Vec<u8>,
    /// The memory of replaced pixels, for the result of the next operation.
    pub spare: Vec<u8>,
    /// Time spent decoding since it was last taken; the trace uses it to separate decode time from pixel time.
    decoding: Duration,
    kept: Vec<(TypeId, Box<dyn Any + Send>)>,
    budget: Arc<Budget>,
    /// Held from the first large claim to the end of the sample.
    permit: Option<Permit>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// Creates an empty scratch.
    pub fn new() -> Self {
        Scratch::with_budget(Arc::default())
    }

    /// Empty scratch of a worker that shares `budget` with others.
    pub fn with_budget(budget: Arc<Budget>) -> Self {
        Scratch {
            resampler: Resampler::new(),
            pixels: Vec::new(),
            spare: Vec::new(),
            decoding: Duration::ZERO,
            kept: Vec::new(),
            budget,
            permit: None,
        }
    }

    /// What this worker may take.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Asks for memory of a size that comes from data, before it is allocated. Large samples are made one at a time: this
    /// waits for another worker that is making one.
    pub fn claim(&mut self, bytes: u64) -> Result<()> {
        if bytes <= SMALL {
            return Ok(());
        }
        self.budget.check(bytes)?;
        if self.permit.is_none() {
            self.permit = Some(self.budget.permit());
        }
        Ok(())
    }

    /// The sample is finished. After a large one its memory is freed, so that one large sample among many does not cost its
    /// memory for the rest of the run.
    pub fn end_sample(&mut self) {
        if self.permit.is_some() {
            self.pixels = Vec::new();
            self.spare = Vec::new();
            self.resampler = Resampler::new();
            self.kept.clear();
            self.permit = None;
        }
    }

    /// Returns the thread's own `T`, created on first use.
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

    /// Returns the time spent decoding since the last call.
    pub fn take_decoding(&mut self) -> Duration {
        std::mem::take(&mut self.decoding)
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").field("pixels", &self.pixels.capacity()).finish_non_exhaustive()
    }
}
