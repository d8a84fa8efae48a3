//! The chunk map: where every chunk of a data set is stored.
//!
//! It is read once, whatever index the file has, and then answers by itself. A chunk takes 12 bytes (place and length);
//! its number, its filter mask and a length beyond 4 GiB only cost something where they are needed.

mod arrays;
mod build;
mod extensible;
mod saved;

use crate::error::{Error, Result};
pub(crate) use build::read;
use std::ops::Range;

/// Where chunks are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkMap {
    /// How many chunks there are along each axis.
    grid: Vec<u64>,
    /// Bytes of a decoded chunk.
    bytes: u64,
    places: Places,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Places {
    /// One behind the other, counted with these strides.
    Even {
        start: u64,
        strides: Vec<u64>,
    },
    Listed(Listed),
}

/// Chunks in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Listed {
    /// Numbers of those that are there; nothing if all are.
    numbers: Option<Vec<u64>>,
    starts: Vec<u64>,
    lens: Lens,
    /// Nothing if no chunk skips a filter.
    masks: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Lens {
    Short(Vec<u32>),
    Long(Vec<u64>),
}

impl Default for Lens {
    fn default() -> Self {
        Lens::Short(Vec::new())
    }
}

/// A chunk as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChunk {
    /// Where in the file.
    pub range: Range<u64>,
    /// Filters that were skipped: a bit for each.
    pub mask: u32,
}

impl ChunkMap {
    /// How many chunks there are along each axis.
    pub fn grid(&self) -> &[u64] {
        &self.grid
    }

    /// How many chunks have a place of their own.
    pub fn stored(&self) -> u64 {
        match &self.places {
            Places::Even { .. } => self.grid.iter().product(),
            Places::Listed(listed) => listed.starts.len() as u64,
        }
    }

    /// Bytes of memory it takes, about.
    pub fn memory(&self) -> usize {
        match &self.places {
            Places::Even { .. } => 0,
            Places::Listed(listed) => {
                let lens = match &listed.lens {
                    Lens::Short(lens) => lens.len() * 4,
                    Lens::Long(lens) => lens.len() * 8,
                };
                let numbers = listed.numbers.as_ref().map_or(0, |numbers| numbers.len() * 8);
                listed.starts.len() * 8 + lens + numbers + listed.masks.len() * 4
            }
        }
    }

    /// The number of a chunk: they are counted with the last axis first.
    pub fn number(&self, coordinates: &[u64]) -> u64 {
        self.grid.iter().zip(coordinates).fold(0, |number, (&n, &at)| number * n + at)
    }

    /// The chunk at coordinates; `None` if it was never written.
    pub fn get(&self, coordinates: &[u64]) -> Option<StoredChunk> {
        match &self.places {
            Places::Even { start, strides } => {
                let before: u64 = strides.iter().zip(coordinates).map(|(&stride, &at)| stride * at).sum();
                let from = start + before * self.bytes;
                Some(StoredChunk { range: from..from + self.bytes, mask: 0 })
            }
            Places::Listed(listed) => {
                let number = self.number(coordinates);
                let at = match &listed.numbers {
                    Some(numbers) => numbers.binary_search(&number).ok()?,
                    None => usize::try_from(number).ok()?,
                };
                let start = *listed.starts.get(at)?;
                let len = match &listed.lens {
                    Lens::Short(lens) => u64::from(*lens.get(at)?),
                    Lens::Long(lens) => *lens.get(at)?,
                };
                let mask = listed.masks.get(at).copied().unwrap_or(0);
                Some(StoredChunk { range: start..start.checked_add(len)?, mask })
            }
        }
    }
}

/// One chunk while the map is made.
#[derive(Debug, Clone, Copy)]
struct Found {
    number: u64,
    start: u64,
    len: u64,
    mask: u32,
}

/// Makes the map of chunks in any order.
fn listed(grid: Vec<u64>, bytes: u64, mut found: Vec<Found>) -> Result<ChunkMap> {
    if !found.is_sorted_by_key(|chunk| chunk.number) {
        found.sort_unstable_by_key(|chunk| chunk.number);
    }
    if found.windows(2).any(|pair| pair[0].number == pair[1].number) {
        return Err(Error::damaged("a chunk is stored twice"));
    }
    let total: u64 = grid.iter().product();
    let all = found.len() as u64 == total;
    let numbers = (!all).then(|| found.iter().map(|chunk| chunk.number).collect());
    let masks = if found.iter().any(|chunk| chunk.mask != 0) {
        found.iter().map(|chunk| chunk.mask).collect()
    } else {
        Vec::new()
    };
    let lens = if found.iter().all(|chunk| u32::try_from(chunk.len).is_ok()) {
        Lens::Short(found.iter().map(|chunk| chunk.len as u32).collect())
    } else {
        Lens::Long(found.iter().map(|chunk| chunk.len).collect())
    };
    let starts = found.iter().map(|chunk| chunk.start).collect();
    Ok(ChunkMap { grid, bytes, places: Places::Listed(Listed { numbers, starts, lens, masks }) })
}
