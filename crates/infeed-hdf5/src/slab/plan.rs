//! Which bytes a slab needs.

use super::{Reader, Slab, copy::strides};
use crate::{
    error::{Error, Result},
    layout::Layout,
};
use std::ops::Range;

/// Neighbouring runs of data that are not chunked are read together with what is between them, if that is not more than this.
const GAP: u64 = 64 << 10;

/// The pieces of a slab.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) slab: Slab,
    pub(super) pieces: Vec<Piece>,
}

/// A part of a slab that is read and placed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub(super) stored: Stored,
    /// Where it begins in the slab, and how many elements it has along each axis.
    pub(super) start: Vec<u64>,
    pub(super) count: Vec<u64>,
    /// The element of its stored bytes at which it begins.
    pub(super) from: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stored {
    /// Never written.
    Fill,
    /// In the metadata.
    Compact,
    /// As it is.
    Plain(Range<u64>),
    /// A chunk with filters: its place, its mask, its number.
    Filtered(Range<u64>, u32, u64),
}

impl Piece {
    /// The range of the file that it needs; `None` if it needs nothing.
    pub fn range(&self) -> Option<Range<u64>> {
        match &self.stored {
            Stored::Plain(range) | Stored::Filtered(range, ..) => Some(range.clone()),
            _ => None,
        }
    }

    /// The number of the chunk, if it must be decoded: pieces of the same number share a decoded chunk.
    pub fn chunk(&self) -> Option<u64> {
        match self.stored {
            Stored::Filtered(_, _, number) => Some(number),
            _ => None,
        }
    }
}

impl Plan {
    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The slab.
    pub fn slab(&self) -> &Slab {
        &self.slab
    }
}

impl Reader {
    /// Says which bytes a slab needs. Nothing is read.
    pub fn plan(&self, slab: &Slab) -> Result<Plan> {
        self.check_slab(slab)?;
        let mut pieces = Vec::new();
        if !slab.count.contains(&0) && !self.dataset.space.null {
            match &self.dataset.layout {
                Layout::Chunked { chunk, .. } => self.chunked(slab, chunk, &mut pieces)?,
                layout => {
                    let strides = strides(&self.dataset.space.shape);
                    let from = linear(&slab.start, &strides);
                    let all = Piece {
                        stored: Stored::Fill,
                        start: vec![0; slab.start.len()],
                        count: slab.count.clone(),
                        from: 0,
                    };
                    match layout {
                        Layout::Compact(_) => pieces.push(Piece { stored: Stored::Compact, from, ..all }),
                        Layout::Contiguous { address: Some(address) } => {
                            let element = u64::from(self.dataset.datatype.size);
                            let place =
                                address.checked_add(self.base).ok_or_else(|| Error::damaged("an address"))?;
                            let runs = Runs { strides, element, place, max: self.limits.max_run, slab };
                            runs.cut(all.start, all.count, &mut pieces, self.limits.max_chunks)?;
                        }
                        _ => pieces.push(all),
                    }
                }
            }
        }
        Ok(Plan { slab: slab.clone(), pieces })
    }

    fn check_slab(&self, slab: &Slab) -> Result<()> {
        let shape = &self.dataset.space.shape;
        let inside = |((&start, &count), &n): ((&u64, &u64), &u64)| {
            start.checked_add(count).is_some_and(|end| end <= n)
        };
        let same = slab.start.len() == shape.len() && slab.count.len() == shape.len();
        if same && slab.start.iter().zip(&slab.count).zip(shape).all(inside) {
            return Ok(());
        }
        Err(Error::Request(format!(
            "{}: a slab of {:?} at {:?} is not inside of the shape {shape:?}",
            self.dataset.path, slab.count, slab.start
        )))
    }

    fn chunked(&self, slab: &Slab, chunk: &[u64], pieces: &mut Vec<Piece>) -> Result<()> {
        let map = self.map.as_ref().ok_or_else(|| Error::Request("there is no chunk map".to_owned()))?;
        let first: Vec<u64> = slab.start.iter().zip(chunk).map(|(&at, &n)| at / n).collect();
        let end =
            slab.start.iter().zip(&slab.count).zip(chunk).map(|((&at, &count), &n)| (at + count).div_ceil(n));
        let end: Vec<u64> = end.collect();
        let total = first.iter().zip(&end).try_fold(1u64, |all, (&from, &to)| all.checked_mul(to - from));
        let (size, limit) = (total.unwrap_or(u64::MAX), self.limits.max_chunks);
        if size > limit {
            return Err(Error::TooLarge { what: "a number of chunks", size, limit });
        }
        let strides = strides(chunk);
        let element = u64::from(self.dataset.datatype.size);
        let mut at = first.clone();
        loop {
            let (mut start, mut count, mut from) = (Vec::new(), Vec::new(), 0);
            for axis in 0..chunk.len() {
                let origin = at[axis] * chunk[axis];
                let begin = origin.max(slab.start[axis]);
                let stop = (origin + chunk[axis]).min(slab.start[axis] + slab.count[axis]);
                start.push(begin - slab.start[axis]);
                count.push(stop - begin);
                from += (begin - origin) * strides[axis];
            }
            let stored = match map.get(&at) {
                None => Stored::Fill,
                Some(found) if self.dataset.pipeline.is_plain(found.mask) => {
                    if found.range.end - found.range.start != self.chunk_bytes as u64 {
                        return Err(Error::damaged(
                            "a chunk without filters has another size than its shape says",
                        ));
                    }
                    // Without filters, only the part that is needed.
                    let last =
                        from + count.iter().zip(&strides).map(|(&n, &stride)| (n - 1) * stride).sum::<u64>();
                    let begin = found.range.start + from * element;
                    let end = found.range.start + (last + 1) * element;
                    from = 0;
                    Stored::Plain(begin..end)
                }
                Some(found) => Stored::Filtered(found.range, found.mask, map.number(&at)),
            };
            pieces.push(Piece { stored, start, count, from });
            // The next coordinates, the last axis first.
            let mut axis = chunk.len();
            loop {
                let Some(before) = axis.checked_sub(1) else { return Ok(()) };
                axis = before;
                at[axis] += 1;
                if at[axis] < end[axis] {
                    break;
                }
                at[axis] = first[axis];
            }
        }
    }
}

/// The place of coordinates, in elements.
pub(super) fn linear(coordinates: &[u64], strides: &[u64]) -> u64 {
    coordinates.iter().zip(strides).map(|(&at, &stride)| at * stride).sum()
}

/// Cuts boxes of data that are not chunked into runs of the file.
struct Runs<'a> {
    strides: Vec<u64>,
    element: u64,
    place: u64,
    max: u64,
    slab: &'a Slab,
}

impl Runs<'_> {
    fn cut(&self, start: Vec<u64>, count: Vec<u64>, pieces: &mut Vec<Piece>, limit: u64) -> Result<()> {
        if pieces.len() as u64 >= limit {
            return Err(Error::TooLarge { what: "a number of runs", size: limit + 1, limit });
        }
        let span = |count: &[u64]| {
            let last: u64 = count.iter().zip(&self.strides).map(|(&n, &stride)| (n - 1) * stride).sum();
            (last + 1) * self.element
        };
        if let Some(axis) = count.iter().position(|&n| n > 1) {
            let mut one = count.clone();
            one[axis] = 1;
            let step = self.strides[axis] * self.element;
            let rows = if step - span(&one).min(step) > GAP {
                1
            } else if span(&count) > self.max {
                (self.max / step.max(1)).max(1)
            } else {
                count[axis]
            };
            if rows < count[axis] {
                for from in (0..count[axis]).step_by(usize::try_from(rows).unwrap_or(usize::MAX)) {
                    let (mut start, mut part) = (start.clone(), count.clone());
                    start[axis] += from;
                    part[axis] = rows.min(count[axis] - from);
                    self.cut(start, part, pieces, limit)?;
                }
                return Ok(());
            }
        }
        let whole: Vec<u64> = start.iter().zip(&self.slab.start).map(|(a, b)| a + b).collect();
        let first = linear(&whole, &self.strides) * self.element;
        let begin = first.checked_add(self.place).ok_or_else(|| Error::damaged("an address"))?;
        let end = begin.checked_add(span(&count)).ok_or_else(|| Error::damaged("an address"))?;
        pieces.push(Piece { stored: Stored::Plain(begin..end), start, count, from: 0 });
        Ok(())
    }
}
