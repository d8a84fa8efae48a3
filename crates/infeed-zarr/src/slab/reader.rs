//! Bytes to arrays.

use super::{
    Piece, Plan, Slab,
    copy::{Sides, copy_box, fill_box, pick, runs, strides},
    index::Known,
    linear,
};
use crate::{
    codec::{Chain, Scratch, Shard},
    datatype::{Datatype, Native},
    error::{Error, Result},
    limits::Limits,
    meta::Array,
    objects::Span,
};
use std::ops::Range;

/// An array that is ready to be read: nothing but chunks, and indices of shards, is asked of the store any more.
///
/// Clones share the indices that they have learnt.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(super) array: Array,
    pub(super) limits: Limits,
    pub(super) known: Known,
    /// Chunks that are decoded at once: their size, how far apart neighbours are in them, how many there are along each axis.
    pub(super) unit_bytes: usize,
    pub(super) strides: Vec<u64>,
    pub(super) units: Vec<u64>,
    /// The part of every element that is given.
    offset: usize,
    datatype: Datatype,
    native: Native,
    fill: Vec<u8>,
    stored_fill: Vec<u8>,
}

impl Reader {
    /// Makes a reader; `field` names a part of every element, or is empty.
    pub fn new(array: Array, field: &str, limits: Limits) -> Result<Reader> {
        let (offset, datatype) = array.datatype.field(field)?;
        let parts = || Error::unsupported(format!("elements with this many parts: {}", array.path));
        let native = Native::of(&datatype).ok_or_else(parts)?;
        let fill = array.fill.get(offset..offset + datatype.size).ok_or_else(parts)?.to_vec();
        let stored_fill = array.stored_fill();
        let unit = array.unit();
        let units = array.shape.iter().zip(unit).map(|(n, c)| n.div_ceil(*c)).collect();
        let mut reader = Reader {
            limits,
            known: Known::default(),
            unit_bytes: 0,
            strides: Vec::new(),
            units,
            offset,
            datatype,
            native,
            fill,
            stored_fill,
            array,
        };
        let chain = reader.chain();
        let bytes = chain.bytes(&limits).map_err(|e| e.within(&reader.array.path))?;
        (reader.strides, reader.unit_bytes) = (chain.strides(), bytes);
        Ok(reader)
    }

    /// The array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// What an element of the output is.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// The shard whose chunks are read by themselves.
    pub(super) fn shard(&self) -> Option<&Shard> {
        self.array.chain.shard.as_deref().filter(|_| self.array.in_parts())
    }

    /// What was done to a chunk that is decoded at once.
    pub(super) fn chain(&self) -> &Chain {
        self.shard().map_or(&self.array.chain, |shard| &shard.chain)
    }

    /// Bytes that a slab takes in memory; `None` if nobody can count them.
    pub fn bytes(&self, slab: &Slab) -> Option<usize> {
        let elements = slab.count.iter().try_fold(1u64, |all, &n| all.checked_mul(n))?;
        usize::try_from(elements.checked_mul(self.datatype.size as u64)?).ok()
    }

    /// Whether chunks are stored as they are, so that a part of one can be read alone.
    pub fn is_plain(&self) -> bool {
        self.chain().is_plain()
    }

    /// Bytes of a decoded chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Cuts a slab along the first axis into parts that touch no chunk in common (as far as that is possible), each with its
    /// part of the output: threads that fill one each need no lock. There are at most `parts` of them.
    pub fn bands(&self, slab: &Slab, parts: usize) -> Vec<(Slab, Range<usize>)> {
        let all = || vec![(slab.clone(), 0..self.bytes(slab).unwrap_or(0))];
        let (Some(&start), Some(&count)) = (slab.start.first(), slab.count.first()) else { return all() };
        let step = self.array.unit().first().copied().unwrap_or(1);
        let (first, end) = (start / step, start.saturating_add(count).div_ceil(step));
        let each = end.saturating_sub(first).div_ceil(parts.max(1) as u64);
        if each == 0 || parts <= 1 {
            return all();
        }
        let row = self.bytes(slab).unwrap_or(0) as u64 / count.max(1);
        let mut out = Vec::new();
        let mut from = start;
        while from < start + count {
            let to = ((from / step + each) * step).min(start + count);
            let mut part = slab.clone();
            (part.start[0], part.count[0]) = (from, to - from);
            out.push((part, ((from - start) * row) as usize..((to - start) * row) as usize));
            from = to;
        }
        out
    }

    /// Decodes the chunk of a piece, whole. `stored` is what [`Piece::key`] and [`Piece::span`] name; without it, the chunk has the
    /// fill value.
    pub fn decode(
        &self,
        piece: &Piece,
        stored: Option<&[u8]>,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if piece.chunk().is_none() {
            return Err(Error::Request("this piece is not a chunk that must be decoded".to_owned()));
        }
        out.resize(self.unit_bytes, 0);
        match stored {
            Some(stored) => self.undo(piece, stored, out, scratch),
            None => {
                fill_box(
                    &[self.unit_bytes as u64 / self.stored_fill.len() as u64],
                    (0, &[1]),
                    &self.stored_fill,
                    out,
                );
                Ok(())
            }
        }
    }

    fn undo(&self, piece: &Piece, stored: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let decoded = self.chain().decode(stored, &self.stored_fill, out, scratch);
        decoded.map_err(|e| e.within(piece.key().unwrap_or(&self.array.path)))
    }

    /// Writes the elements of a piece into the output of its slab. `stored` is what [`Piece::key`] and [`Piece::span`] name; `None` says
    /// that there is no such object, so that the elements have the fill value.
    pub fn place(
        &self,
        plan: &Plan,
        piece: &Piece,
        stored: Option<&[u8]>,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<()> {
        self.check_out(plan, out)?;
        let Some(stored) = stored.filter(|_| piece.key.is_some()) else {
            let target = strides(&plan.slab.count);
            fill_box(&piece.count, (linear(&piece.start, &target), &target), &self.fill, out);
            return Ok(());
        };
        if piece.plain {
            let wanted = match &piece.span {
                Span::Range(range) => range.end - range.start,
                _ => self.unit_bytes as u64,
            };
            if wanted != stored.len() as u64 {
                let what = format!("a chunk without compression has {} bytes, not {wanted}", stored.len());
                return Err(Error::damaged(what).within(piece.key().unwrap_or_default()));
            }
            return self.copy(plan, piece, stored, out);
        }
        if let Some(to) = self.whole(plan, piece)
            && let Some(part) = out.get_mut(to..to + self.unit_bytes)
        {
            self.undo(piece, stored, part, scratch)?;
            self.native.apply(part);
            return Ok(());
        }
        let mut chunk = std::mem::take(&mut scratch.output);
        chunk.resize(self.unit_bytes, 0);
        let decoded = self.undo(piece, stored, &mut chunk, scratch);
        let placed = decoded.and_then(|()| self.copy(plan, piece, &chunk, out));
        scratch.output = chunk;
        placed
    }

    /// Writes the elements of a piece whose chunk was decoded before, perhaps for another piece.
    pub fn place_decoded(&self, plan: &Plan, piece: &Piece, chunk: &[u8], out: &mut [u8]) -> Result<()> {
        self.check_out(plan, out)?;
        if chunk.len() != self.unit_bytes || piece.chunk().is_none() {
            return Err(Error::Request("this is not the decoded chunk of the piece".to_owned()));
        }
        self.copy(plan, piece, chunk, out)
    }

    fn check_out(&self, plan: &Plan, out: &[u8]) -> Result<()> {
        if self.bytes(&plan.slab) == Some(out.len()) {
            return Ok(());
        }
        Err(Error::Request(format!(
            "a slab of {:?} elements does not fit into {} bytes",
            plan.slab.count,
            out.len()
        )))
    }

    /// Where a chunk belongs as a whole, if nothing of it is left out and its rows lie behind each other.
    fn whole(&self, plan: &Plan, piece: &Piece) -> Option<usize> {
        let unit = self.array.unit();
        let straight = self.strides == strides(unit);
        if piece.count != unit || self.datatype.size != self.array.datatype.size || !straight {
            return None;
        }
        // Behind the first axis along which the chunk has several elements, it must be as wide as the slab.
        let first = unit.iter().position(|&n| n > 1).unwrap_or(0);
        let mut inner = unit.iter().zip(&plan.slab.count).skip(first + 1);
        let to = linear(&piece.start, &strides(&plan.slab.count));
        inner.all(|(a, b)| a == b).then_some(to as usize * self.datatype.size)
    }

    fn copy(&self, plan: &Plan, piece: &Piece, data: &[u8], out: &mut [u8]) -> Result<()> {
        let (wide, narrow) = (self.array.datatype.size, self.datatype.size);
        let target = strides(&plan.slab.count);
        let to = linear(&piece.start, &target);
        let sides = Sides { source: (piece.from, &self.strides), target: (to, &target) };
        let mut fits = true;
        if wide == narrow {
            fits = copy_box(&piece.count, sides, wide, data, out);
        } else {
            runs(&piece.count, sides, |from, to, len| {
                let (from, to, len) = (from as usize, to as usize, len as usize);
                let input = data.get(from.saturating_mul(wide)..(from + len).saturating_mul(wide));
                match (input, out.get_mut(to * narrow..(to + len) * narrow)) {
                    (Some(input), Some(output)) => pick(input, wide, self.offset, narrow, output),
                    _ => fits = false,
                }
            });
        }
        if !fits {
            return Err(Error::Request("a piece does not fit its bytes".to_owned()));
        }
        if !self.native.is_nothing() {
            runs(&piece.count, Sides { source: (to, &target), target: (to, &target) }, |_, to, len| {
                let (to, len) = (to as usize, len as usize);
                if let Some(part) = out.get_mut(to * narrow..(to + len) * narrow) {
                    self.native.apply(part);
                }
            });
        }
        Ok(())
    }
}
