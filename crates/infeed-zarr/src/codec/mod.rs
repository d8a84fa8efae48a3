//! Codecs: what was done to a chunk before it was stored, undone in memory.
//!
//! Both versions of the format come down to a [`Chain`]: axes that may be in another order, then either elements behind each
//! other or a shard of smaller chunks (which have a chain of their own), then steps over bytes. Decoding is a pure function
//! that writes into memory of the caller, with buffers that the caller keeps from chunk to chunk.

mod numbers;
mod parse;
mod shard;
mod step;

pub(crate) use parse::{second, third};
pub(crate) use shard::Shard;
pub(crate) use step::Step;

use crate::{
    error::{Error, Result},
    limits::Limits,
    slab::strides,
};

/// Memory for decoding, kept from chunk to chunk by each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    first: Vec<u8>,
    second: Vec<u8>,
    /// A chunk that is only wanted in part.
    pub(crate) output: Vec<u8>,
    /// A chunk of a shard.
    chunk: Vec<u8>,
    codecs: infeed_codecs::Scratch,
    /// For the chunks of shards that are decoded as a whole.
    within: Option<Box<Scratch>>,
}

/// Everything that was done to the chunks of an array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chain {
    /// The shape of a chunk.
    pub(crate) shape: Vec<u64>,
    /// Which axis stands where in the stored chunk.
    pub(crate) axes: Vec<usize>,
    /// Chunks inside of the chunk.
    pub(crate) shard: Option<Box<Shard>>,
    /// In the order in which they were applied.
    pub(crate) steps: Vec<Step>,
    /// Bytes of an element.
    pub(crate) element: usize,
}

impl Chain {
    /// The shape of a chunk as it is stored.
    pub(crate) fn stored_shape(&self) -> Vec<u64> {
        self.axes.iter().map(|&axis| self.shape[axis]).collect()
    }

    /// How far apart neighbours along each axis are in a decoded chunk, in elements.
    pub(crate) fn strides(&self) -> Vec<u64> {
        let stored = strides(&self.stored_shape());
        let mut out = vec![0; self.shape.len()];
        self.axes.iter().zip(stored).for_each(|(&axis, stride)| out[axis] = stride);
        out
    }

    /// Whether axes are where they are expected.
    pub(crate) fn is_straight(&self) -> bool {
        self.axes.iter().enumerate().all(|(at, &axis)| at == axis)
    }

    /// Whether decoded bytes are stored as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.steps.is_empty() && self.shard.is_none()
    }

    /// Bytes of a decoded chunk, within the limits.
    pub(crate) fn bytes(&self, limits: &Limits) -> Result<usize> {
        let bytes = self.shape.iter().try_fold(self.element as u64, |all, &n| all.checked_mul(n));
        let (size, limit) = (bytes.unwrap_or(u64::MAX), limits.max_chunk);
        match usize::try_from(size) {
            Ok(bytes) if size <= limit => Ok(bytes),
            _ => Err(Error::TooLarge { what: "a chunk", size, limit }),
        }
    }

    /// Undoes everything but the order of axes. `out` has the size of a chunk and is full afterwards. `fill` is one element as
    /// it is stored, for chunks that a shard does not have.
    pub(crate) fn decode(
        &self,
        stored: &[u8],
        fill: &[u8],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Some(shard) = &self.shard else { return self.undo(stored, out, scratch) };
        if self.steps.is_empty() {
            return shard.decode(stored, &self.stored_shape(), fill, out, scratch);
        }
        // Nothing says how large a shard is before it was compressed: as large as its chunks would be if nothing helped.
        let most = step::loosely(out.len()).saturating_add(shard.index_bytes());
        let mut bytes = vec![0; most];
        let made = self.undo_some(stored, &mut bytes, scratch)?;
        shard.decode(&bytes[..made], &self.stored_shape(), fill, out, scratch)
    }

    fn undo(&self, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let made = self.undo_some(stored, out, scratch)?;
        if made != out.len() {
            return Err(Error::damaged(format!("a chunk of {} bytes came out as {made}", out.len())));
        }
        Ok(())
    }

    /// Undoes the steps and says how many bytes came out.
    fn undo_some(&self, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<usize> {
        let Some((last, more)) = self.steps.split_first() else {
            let Some(out) = out.get_mut(..stored.len()) else {
                return Err(Error::damaged(format!(
                    "a chunk of {} bytes is stored in {} without compression",
                    out.len(),
                    stored.len()
                )));
            };
            out.copy_from_slice(stored);
            return Ok(stored.len());
        };
        // The largest size in front of each step.
        let mut sizes = Vec::with_capacity(self.steps.len());
        let mut size = out.len();
        for step in &self.steps {
            sizes.push(size);
            size = step.size_behind(size);
        }
        let Scratch { first, second, codecs, .. } = scratch;
        let (mut from, mut to) = (first, second);
        let mut len = None;
        for (step, &most) in more.iter().zip(&sizes[1..]).rev() {
            if to.len() < most {
                to.resize(most, 0);
            }
            let input = len.map_or(stored, |len| &from[..len]);
            len = Some(step.undo(input, &mut to[..most], codecs)?);
            std::mem::swap(&mut from, &mut to);
        }
        last.undo(len.map_or(stored, |len| &from[..len]), out, codecs)
    }
}
