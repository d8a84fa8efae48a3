//! Shards: many chunks in one object, and an index that says where each of them is.

use super::{Chain, Scratch};
use crate::{
    error::{Error, Result},
    slab::{Sides, copy_box, fill_box, strides},
};
use std::ops::Range;

/// How chunks lie in a shard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shard {
    /// What was done to the chunks in it.
    pub(crate) chain: Chain,
    /// How many chunks there are along each axis of the shard as it is stored.
    pub(crate) grid: Vec<u64>,
    /// The numbers of the index are big-endian.
    pub(crate) big: bool,
    /// The index has a CRC-32C behind it.
    pub(crate) sum: bool,
    /// The index stands in front of the chunks, not behind them.
    pub(crate) front: bool,
}

/// Where the chunks of a shard are; `None` for those that were never written.
pub(crate) type Index = Vec<Option<Range<u64>>>;

impl Shard {
    /// Bytes of the index; the parser has checked that they can be counted.
    pub(crate) fn index_bytes(&self) -> usize {
        self.grid.iter().product::<u64>() as usize * 16 + if self.sum { 4 } else { 0 }
    }

    /// Reads an index.
    pub(crate) fn index(&self, stored: &[u8]) -> Result<Index> {
        if stored.len() != self.index_bytes() {
            return Err(Error::damaged(format!(
                "the index of a shard has {} bytes, not {}",
                stored.len(),
                self.index_bytes()
            )));
        }
        let mut entries = stored;
        if self.sum {
            let (data, sum) =
                stored.split_last_chunk::<4>().ok_or_else(|| Error::damaged("an index without bytes"))?;
            if infeed_codecs::crc32c(data) != u32::from_le_bytes(*sum) && !cfg!(fuzzing) {
                return Err(Error::damaged("the checksum of a shard's index does not agree"));
            }
            entries = data;
        }
        let number =
            |bytes: &[u8; 8]| if self.big { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) };
        let (numbers, _) = entries.as_chunks::<8>();
        let pairs = numbers.as_chunks::<2>().0.iter();
        pairs
            .map(|[offset, len]| match (number(offset), number(len)) {
                (u64::MAX, u64::MAX) => Ok(None),
                (offset, len) => {
                    let end = offset.checked_add(len);
                    let end = end.ok_or_else(|| Error::damaged("a chunk of a shard ends nowhere"))?;
                    Ok(Some(offset..end))
                }
            })
            .collect()
    }

    /// Decodes all chunks of a shard. `shape` is the shape of the shard as it is stored.
    pub(super) fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        fill: &[u8],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let short = || Error::damaged("a shard is cut short");
        let len = self.index_bytes();
        let index = if self.front {
            stored.get(..len).ok_or_else(short)?
        } else {
            &stored[stored.len().checked_sub(len).ok_or_else(short)?..]
        };
        let index = self.index(index)?;
        let (element, target, inner) = (self.chain.element, strides(shape), &self.chain.shape);
        let bytes = inner.iter().product::<u64>() as usize * element;
        let source = self.chain.strides();
        let mut within = scratch.within.take().unwrap_or_default();
        let mut chunk = std::mem::take(&mut scratch.chunk);
        chunk.resize(bytes, 0);
        let mut at = vec![0; inner.len()];
        let mut one = |range: &Option<Range<u64>>| -> Result<()> {
            let to: u64 = at.iter().zip(inner).zip(&target).map(|((a, n), stride)| a * n * stride).sum();
            match range {
                None => fill_box(inner, (to, &target), fill, out),
                Some(range) => {
                    let place = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
                    let data = place.and_then(|(from, to)| stored.get(from..to)).ok_or_else(short)?;
                    self.chain.decode(data, fill, &mut chunk, &mut within)?;
                    let sides = Sides { source: (0, &source), target: (to, &target) };
                    copy_box(inner, sides, element, &chunk, out);
                }
            }
            for axis in (0..at.len()).rev() {
                at[axis] += 1;
                if at[axis] < self.grid[axis] {
                    break;
                }
                at[axis] = 0;
            }
            Ok(())
        };
        let done = index.iter().try_for_each(&mut one);
        (scratch.chunk, scratch.within) = (chunk, Some(within));
        done
    }
}
