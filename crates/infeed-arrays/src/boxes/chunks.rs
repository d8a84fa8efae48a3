//! Decoded chunks: each decoded once however many threads want it, and kept while there is memory.

use super::{
    BoxSource,
    region::{Region, outside},
};
use crate::array::{Axis, Plain, Slab, copy};
use infeed_core::{
    Error, Hold, Result,
    blocks::{Block, Key, Spares},
};

/// Bytes of chunks that a thread holds at a time, and how many chunks.
const HELD: u64 = 64 << 20;
const MOST: u64 = 256;
/// Chunks of one box: more than anybody waits for.
const LARGEST: u64 = 1 << 22;

/// A decoded chunk in C order, without what lies behind the end of its array.
#[derive(Debug)]
pub(super) struct Chunk {
    memory: Vec<u8>,
}

impl Block for Chunk {
    fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }

    fn give_back(self, spares: &Spares) {
        spares.give(self.memory);
    }
}

/// The chunks of an array.
struct Grid<'a> {
    shape: &'a [u64],
    chunk: &'a [u64],
}

impl Grid<'_> {
    fn along(&self, axis: usize) -> u64 {
        self.shape[axis].div_ceil(self.chunk[axis].max(1)).max(1)
    }

    /// The number of a chunk by its coordinates.
    fn number(&self, at: &[u64]) -> u64 {
        (0..at.len()).fold(0, |all, axis| all * self.along(axis) + at[axis])
    }

    /// The box of the chunk of a number.
    fn slab(&self, mut number: u64) -> Slab {
        let mut slab = Slab::all(self.shape);
        for axis in (0..self.shape.len()).rev() {
            let start = (number % self.along(axis)) * self.chunk[axis];
            number /= self.along(axis);
            slab.start[axis] = start;
            slab.count[axis] = self.chunk[axis].min(self.shape[axis].saturating_sub(start));
        }
        slab
    }

    /// The numbers of the chunks that a box touches.
    fn touched(&self, slab: &Slab) -> Result<Vec<u64>> {
        if slab.count.contains(&0) {
            return Ok(Vec::new());
        }
        let first: Vec<u64> = slab.start.iter().zip(self.chunk).map(|(at, n)| at / n.max(&1)).collect();
        let last: Vec<u64> = (0..first.len())
            .map(|axis| (slab.start[axis] + slab.count[axis] - 1) / self.chunk[axis].max(1))
            .collect();
        let count = first.iter().zip(&last).try_fold(1u64, |all, (a, b)| all.checked_mul(b - a + 1));
        if count.is_none_or(|count| count > LARGEST) {
            let what = format!("a box {:?} of chunks {:?} touches too many chunks", slab.count, self.chunk);
            return Err(Error::sample(what + "; choose smaller windows or patches"));
        }
        let (mut out, mut at) = (Vec::with_capacity(count.unwrap_or(0) as usize), first.clone());
        loop {
            out.push(self.number(&at));
            let Some(axis) = (0..at.len()).rev().find(|axis| at[*axis] < last[*axis]) else { return Ok(out) };
            at[axis] += 1;
            at[axis + 1..].copy_from_slice(&first[axis + 1..]);
        }
    }
}

/// How many chunks an array has; `None` if they cannot be numbered.
pub(super) fn count(shape: &[u64], chunk: &[u64]) -> Option<usize> {
    let grid = Grid { shape, chunk };
    let all = (0..shape.len()).try_fold(1u64, |all, axis| all.checked_mul(grid.along(axis)))?;
    usize::try_from(all).ok().filter(|all| *all < 1 << 48)
}

impl BoxSource {
    fn grid(&self, part: usize, variable: usize) -> Option<(Grid<'_>, usize)> {
        let own = &self.cuts[part].variables[variable];
        let shape = self.parts[part].arrays[variable].shape();
        own.chunk.as_deref().map(|chunk| (Grid { shape, chunk }, own.first_chunk))
    }

    /// The chunks that a box needs, and which box each of them is; `None` if nothing is kept of the variable.
    pub(super) fn touched(
        &self,
        part: usize,
        variable: usize,
        slab: &Slab,
    ) -> Result<Option<Vec<(Key, Slab)>>> {
        let Some((grid, first)) = self.grid(part, variable) else { return Ok(None) };
        let one = |number: u64| ((first + number as usize, variable as u32), grid.slab(number));
        Ok(Some(grid.touched(slab)?.into_iter().map(one).collect()))
    }

    /// Copies a part of an array out of its chunks.
    pub(super) fn copy_region(
        &self,
        part: usize,
        variable: usize,
        region: &Region,
        out: &mut [u8],
    ) -> Result<()> {
        let Some((grid, first)) = self.grid(part, variable) else {
            return self.read_region(part, variable, region, out);
        };
        let size = self.parts[part].arrays[variable].element().size() as u64;
        let bytes = grid.chunk.iter().fold(size, |all, side| all.saturating_mul(*side));
        let together = (HELD / bytes.max(1)).clamp(1, MOST) as usize;
        for some in grid.touched(&region.slab)?.chunks(together) {
            let keys: Vec<Key> =
                some.iter().map(|number| (first + *number as usize, variable as u32)).collect();
            let chunks = self.cache.get(&keys, &|key| {
                self.announced.hold().remove(&key);
                self.decode(part, variable, &grid.slab((key.0 - first) as u64))
            })?;
            for (number, chunk) in some.iter().zip(&chunks) {
                overlap(&grid.slab(*number), &chunk.memory, size, region, out).ok_or_else(outside)?;
            }
        }
        Ok(())
    }

    fn decode(&self, part: usize, variable: usize, slab: &Slab) -> Result<Chunk> {
        let size = self.parts[part].arrays[variable].element().size() as u64;
        let bytes = slab.elements().saturating_mul(size);
        let bytes = usize::try_from(bytes).map_err(|_| Error::sample("a chunk larger than all memory"))?;
        let mut memory = self.cache.spares().take(bytes)?;
        self.read_slab(part, variable, slab, &mut memory)?;
        Ok(Chunk { memory })
    }
}

/// Copies what a chunk and a part have in common. `None` if something lies outside.
fn overlap(chunk: &Slab, memory: &[u8], size: u64, region: &Region, out: &mut [u8]) -> Option<()> {
    let strides = Plain::strides(&chunk.count, size);
    let (mut from, mut to, mut axes) = (0, region.at, Vec::with_capacity(strides.len()));
    for (axis, stride) in strides.iter().enumerate() {
        let (start, wanted) = (chunk.start[axis], region.slab.start[axis]);
        let begin = start.max(wanted);
        let end = (start + chunk.count[axis]).min(wanted + region.slab.count[axis]);
        from += (begin - start) * stride;
        to += (begin - wanted) * region.strides[axis];
        axes.push(Axis { count: end.checked_sub(begin)?, from: *stride, to: region.strides[axis] });
    }
    let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
    copy(&axes, usize::try_from(size).ok()?, false, memory.get(from..)?, out.get_mut(to..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_box() {
        let grid = Grid { shape: &[5, 7], chunk: &[2, 3] };
        assert_eq!(grid.touched(&Slab { start: vec![1, 2], count: vec![2, 2] }).unwrap(), [0, 1, 3, 4]);
        assert_eq!(grid.touched(&Slab { start: vec![4, 6], count: vec![1, 1] }).unwrap(), [8]);
        assert_eq!(grid.touched(&Slab { start: vec![0, 0], count: vec![0, 1] }).unwrap(), [0u64; 0]);
        assert_eq!(grid.slab(8), Slab { start: vec![4, 6], count: vec![1, 1] });
        assert_eq!(count(&[5, 7], &[2, 3]), Some(9));
        let wide = Grid { shape: &[1 << 40], chunk: &[1] };
        let text = wide.touched(&Slab::all(&[1 << 40])).unwrap_err().to_string();
        assert!(text.contains("too many chunks"), "{text}");
    }
}
