//! Megatron's GPT samples, index for index.
//!
//! Documents are repeated once per epoch, shuffled over all epochs together, and concatenated. A sample is `length +
//! 1` tokens of the result; the next one begins on its last token. Samples are shuffled in turn. If less than four
//! fifths of the last epoch is needed, its documents and samples are shuffled separately, at the end. All shuffles
//! come from one `np.random.RandomState(seed)`, one after the other.
//!
//! A document here is a sequence of the index.

mod cache;
mod split;
#[cfg(test)]
mod tests;
mod twister;

use infeed_core::{Error, Result};
use std::ops::Range;

pub use cache::{Description, find_or_build};
pub use split::split;
pub use twister::RandomState;

/// Which samples to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The sequences to use.
    pub documents: Range<u64>,
    /// Number of samples needed.
    pub samples: u64,
    /// Tokens per sample, less one.
    pub length: u64,
    /// Seed of the shuffles.
    pub seed: u32,
}

/// The number of epochs, and what they yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epochs {
    /// Tokens per epoch.
    pub tokens: u64,
    /// Number of epochs, including a partial last one.
    pub epochs: u64,
    /// Samples of all these epochs: at least as many as requested.
    pub samples: u64,
    /// Samples of all epochs but the last, if the last one is shuffled separately.
    pub before_last: Option<u64>,
}

impl Epochs {
    /// Computes the epochs needed for `samples` samples from `tokens` tokens.
    pub fn new(tokens: u64, samples: u64, length: u64) -> Result<Epochs> {
        if tokens == 0 {
            return Err(Error::argument("there is no token to make samples of"));
        }
        let too_many =
            || Error::argument(format!("{samples} samples of {length} tokens are too many to count"));
        // The smallest e of at least 1 for which e * tokens - 1 >= samples * length.
        let needed = samples.checked_mul(length).and_then(|n| n.checked_add(1)).ok_or_else(too_many)?;
        let epochs = needed.div_ceil(tokens).max(1);
        let all = epochs.checked_mul(tokens).ok_or_else(too_many)?;
        let mut before_last = None;
        if epochs > 1 {
            let before = ((epochs - 1) * tokens - 1) / length;
            let last = samples - before.min(samples);
            let whole = (tokens - 1) / length;
            if (last as i64) < (0.80 * whole as f64) as i64 {
                before_last = Some(before);
            }
        }
        Ok(Epochs { tokens, epochs, samples: (all - 1) / length, before_last })
    }
}

/// The samples of a corpus: three arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    /// Documents in concatenation order.
    pub documents: Vec<i32>,
    /// For each sample, the index in `documents` and the token in that document where it begins; followed by
    /// the end of the last one.
    pub starts: Vec<[u32; 2]>,
    /// The sample at each place.
    pub shuffle: Vec<u32>,
}

impl Samples {
    /// Builds the samples. `size` returns the number of tokens of a document.
    pub fn build(ask: &Ask, size: impl Fn(u64) -> u64) -> Result<Samples> {
        let epochs = ask.epochs(&size)?;
        ask.check(&epochs)?;
        let mut random = RandomState::new(ask.seed);
        let documents = documents(ask, &epochs, &mut random);
        let starts = starts(&documents, ask, &epochs, &size)?;
        let total = epochs.samples as u32;
        let mut shuffle: Vec<u32> = (0..total).collect();
        let cut = epochs.before_last.map_or(total, |before| before as u32) as usize;
        let (first, last) = shuffle.split_at_mut(cut.min(total as usize));
        random.shuffle(first);
        random.shuffle(last);
        Ok(Samples { documents, starts, shuffle })
    }

    /// Recomputes the starts from the documents, to measure their cost without the shuffles.
    pub fn rebuilt_starts(&self, ask: &Ask, size: impl Fn(u64) -> u64) -> Result<Vec<[u32; 2]>> {
        starts(&self.documents, ask, &ask.epochs(&size)?, &size)
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.shuffle.len() as u64
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.shuffle.is_empty()
    }

    /// Calls `piece` with document, first token and end (`None`: to the end of the document) of each piece of a sample.
    #[inline]
    pub fn pieces(&self, place: u64, mut piece: impl FnMut(u64, u64, Option<u64>)) -> Option<()> {
        let sample = *self.shuffle.get(place as usize)? as usize;
        let [first, from] = *self.starts.get(sample)?;
        let [last, to] = *self.starts.get(sample + 1)?;
        for at in first..=last {
            let document = *self.documents.get(at as usize)? as u64;
            let begin = if at == first { u64::from(from) } else { 0 };
            // The last token also belongs to the next sample.
            piece(document, begin, (at == last).then_some(u64::from(to) + 1));
        }
        Some(())
    }
}

impl Ask {
    /// Counts tokens and computes the epochs.
    pub fn epochs(&self, size: impl Fn(u64) -> u64) -> Result<Epochs> {
        if self.documents.is_empty() {
            return Err(Error::argument("this part of the split has no document; give it a larger share"));
        }
        Epochs::new(self.documents.clone().map(size).sum(), self.samples, self.length)
    }

    /// Rejects requests that the arrays cannot hold.
    fn check(&self, epochs: &Epochs) -> Result<()> {
        let documents = (self.documents.end - self.documents.start).checked_mul(epochs.epochs);
        let fits = self.documents.end <= i32::MAX as u64
            && documents.is_some_and(|n| n < u64::from(u32::MAX))
            && epochs.samples < u64::from(u32::MAX) - 1;
        if fits {
            return Ok(());
        }
        Err(Error::argument(format!(
            "{} samples over {} epochs of {} documents: there may be 2^32 of samples and documents, and 2^31 documents in \
             an epoch. Split the corpus, or use sampling=\"windows\"",
            epochs.samples,
            epochs.epochs,
            self.documents.end - self.documents.start
        )))
    }
}

fn documents(ask: &Ask, epochs: &Epochs, random: &mut RandomState) -> Vec<i32> {
    let each = (ask.documents.end - ask.documents.start) as usize;
    let mut all: Vec<i32> = Vec::with_capacity(each * epochs.epochs as usize);
    (0..epochs.epochs).for_each(|_| all.extend(ask.documents.clone().map(|d| d as i32)));
    let apart = if epochs.before_last.is_some() { each } else { 0 };
    let cut = all.len() - apart;
    let (first, last) = all.split_at_mut(cut);
    random.shuffle(first);
    random.shuffle(last);
    all
}

/// Number of documents whose sizes are fetched at once.
const BLOCK: usize = 512;

/// Finds the sample starts in one pass over the documents.
fn starts(documents: &[i32], ask: &Ask, epochs: &Epochs, size: impl Fn(u64) -> u64) -> Result<Vec<[u32; 2]>> {
    let mut out = Vec::with_capacity(epochs.samples as usize + 1);
    out.push([0, 0]);
    // The token, counted from 0 over everything, where the next sample begins.
    let mut next = ask.length;
    let wanted = epochs.samples as usize + 1;
    let (mut begin, mut place) = (0, 0);
    let mut sizes = [0; BLOCK];
    for block in documents.chunks(BLOCK) {
        // Sizes are scattered over the index. Fetching them in a separate loop lets the cache misses overlap.
        for (to, document) in sizes.iter_mut().zip(block) {
            *to = size(*document as u64);
        }
        for len in &sizes[..block.len()] {
            let end = begin + len;
            while next < end && out.len() < wanted {
                out.push([place, (next - begin) as u32]);
                next += ask.length;
            }
            begin = end;
            place += 1;
        }
    }
    if out.len() == wanted {
        return Ok(out);
    }
    Err(Error::Internal { what: format!("{} starts of samples instead of {wanted}", out.len()) })
}
