//! Bytes to arrays.

use super::{
    Piece, Plan, Scratch, Slab,
    copy::{pick, repeat, runs, strides},
    plan::Stored,
};
use crate::{
    chunks::ChunkMap,
    dataset::Dataset,
    datatype::{Datatype, Native},
    error::{Error, Result},
    file::File,
    layout::Layout,
    limits::Limits,
};
use std::ops::Range;

/// A data set that is ready to be read: its chunk map is there, and nothing is asked of the file any more.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(super) dataset: Dataset,
    pub(super) map: Option<ChunkMap>,
    pub(super) limits: Limits,
    pub(super) base: u64,
    pub(super) chunk_bytes: usize,
    /// The part of every element that is given.
    offset: usize,
    datatype: Datatype,
    native: Native,
    fill: Vec<u8>,
}

impl Reader {
    /// Makes a reader with a chunk map that was saved; `map` is needed where the data set is chunked.
    pub fn new(file: &File, dataset: Dataset, field: &str, map: Option<ChunkMap>) -> Result<Reader> {
        dataset.check()?;
        let meta = file.meta();
        let (offset, datatype) = dataset.datatype.field(field)?;
        datatype.check().map_err(|e| e.in_object(&dataset.path))?;
        let (offset, datatype) = (offset as usize, datatype.clone());
        let parts = || Error::Unsupported(format!("elements with this many parts: {}", dataset.path));
        let native = Native::of(&datatype).ok_or_else(parts)?;
        let mut chunk_bytes = 0;
        if let Some(chunk) = dataset.chunk() {
            chunk_bytes = dataset.chunk_bytes(&meta.limits)?;
            let grid: Vec<u64> = dataset.space.shape.iter().zip(chunk).map(|(n, c)| n.div_ceil(*c)).collect();
            if !map.as_ref().is_some_and(|map| map.fits(&grid, chunk_bytes)) {
                return Err(Error::Request(format!(
                    "{}: the chunk map belongs to another data set",
                    dataset.path
                )));
            }
        } else {
            let elements = dataset.space.elements();
            let bytes = elements.and_then(|n| n.checked_mul(u64::from(dataset.datatype.size)));
            let bytes = bytes.ok_or_else(|| Error::damaged("more bytes than can be counted"))?;
            match &dataset.layout {
                Layout::Contiguous { address: Some(address) } => drop(meta.place(*address, bytes)?),
                Layout::Compact(data) if (data.len() as u64) < bytes => {
                    return Err(Error::damaged(format!("{}: its elements are cut short", dataset.path)));
                }
                _ => {}
            }
        }
        let size = datatype.size as usize;
        let mut fill = match &dataset.fill {
            Some(fill) => fill.get(offset..offset + size).map(<[u8]>::to_vec).unwrap_or_default(),
            None => Vec::new(),
        };
        fill.resize(size, 0);
        native.apply(&mut fill);
        let (limits, base) = (meta.limits, meta.base);
        Ok(Reader {
            dataset,
            map,
            limits,
            base,
            chunk_bytes: chunk_bytes as usize,
            offset,
            datatype,
            native,
            fill,
        })
    }

    /// The data set.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// What an element of the output is.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// The chunk map, to be saved.
    pub fn map(&self) -> Option<&ChunkMap> {
        self.map.as_ref()
    }

    /// Bytes that a slab takes in memory; `None` if nobody can count them.
    pub fn bytes(&self, slab: &Slab) -> Option<usize> {
        let elements = slab.count.iter().try_fold(1u64, |all, &n| all.checked_mul(n))?;
        usize::try_from(elements.checked_mul(u64::from(self.datatype.size))?).ok()
    }

    /// Cuts a slab along the first axis into parts that touch no chunk in common (as far as that is possible), each with its
    /// part of the output: threads that fill one each need no lock. There are at most `parts` of them.
    pub fn bands(&self, slab: &Slab, parts: usize) -> Vec<(Slab, Range<usize>)> {
        let all = || vec![(slab.clone(), 0..self.bytes(slab).unwrap_or(0))];
        let (Some(&start), Some(&count)) = (slab.start.first(), slab.count.first()) else { return all() };
        let step = self.dataset.chunk().map_or(1, |chunk| chunk[0]);
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

    /// Decodes the chunk of a piece, whole. `stored` is what [`Piece::range`] names.
    pub fn decode(
        &self,
        piece: &Piece,
        stored: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Stored::Filtered(_, mask, _) = piece.stored else {
            return Err(Error::Request("this piece is not a chunk that must be decoded".to_owned()));
        };
        out.resize(self.chunk_bytes, 0);
        self.undo(stored, mask, out, scratch)
    }

    fn undo(&self, stored: &[u8], mask: u32, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let decoded = self.dataset.pipeline.decode(stored, mask, out, scratch);
        decoded.map_err(|e| e.in_object(&self.dataset.path))
    }

    /// Writes the elements of a piece into the output of its slab. `stored` is what [`Piece::range`] names, or nothing.
    pub fn place(
        &self,
        plan: &Plan,
        piece: &Piece,
        stored: &[u8],
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<()> {
        self.check_out(plan, out)?;
        if let Some(range) = piece.range()
            && range.end - range.start != stored.len() as u64
        {
            let what = format!("a piece of {} bytes was given {}", range.end - range.start, stored.len());
            return Err(Error::Request(what));
        }
        match &piece.stored {
            Stored::Fill => {
                let size = self.datatype.size as usize;
                let target = strides(&plan.slab.count);
                let to = super::plan::linear(&piece.start, &target);
                runs(&piece.count, (0, &target), (to, &target), |_, to, len| {
                    if let Some(part) = part(out, to, len, size) {
                        repeat(&self.fill, part);
                    }
                });
                Ok(())
            }
            Stored::Compact => match &self.dataset.layout {
                Layout::Compact(data) => self.copy(plan, piece, data, &self.dataset.space.shape, out),
                _ => Ok(()),
            },
            Stored::Plain(_) => {
                let shape = self.dataset.chunk().unwrap_or(&self.dataset.space.shape);
                self.copy(plan, piece, stored, shape, out)
            }
            Stored::Filtered(_, mask, _) => {
                if let Some(to) = self.whole(plan, piece)
                    && let Some(part) = out.get_mut(to..to + self.chunk_bytes)
                {
                    self.undo(stored, *mask, part, scratch)?;
                    self.native.apply(part);
                    return Ok(());
                }
                let mut chunk = std::mem::take(&mut scratch.chunk);
                chunk.resize(self.chunk_bytes, 0);
                let decoded = self.undo(stored, *mask, &mut chunk, scratch);
                let placed = decoded.and_then(|()| self.place_decoded(plan, piece, &chunk, out));
                scratch.chunk = chunk;
                placed
            }
        }
    }

    /// Writes the elements of a piece whose chunk was decoded before, perhaps for another piece.
    pub fn place_decoded(&self, plan: &Plan, piece: &Piece, chunk: &[u8], out: &mut [u8]) -> Result<()> {
        self.check_out(plan, out)?;
        if chunk.len() != self.chunk_bytes || piece.chunk().is_none() {
            return Err(Error::Request("this is not the decoded chunk of the piece".to_owned()));
        }
        self.copy(plan, piece, chunk, self.dataset.chunk().unwrap_or_default(), out)
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
        let chunk = self.dataset.chunk()?;
        if piece.count != chunk || self.datatype.size != self.dataset.datatype.size {
            return None;
        }
        // Behind the first axis along which the chunk has several elements, it must be as wide as the slab.
        let first = chunk.iter().position(|&n| n > 1).unwrap_or(0);
        let mut inner = chunk.iter().zip(&plan.slab.count).skip(first + 1);
        let to = super::plan::linear(&piece.start, &strides(&plan.slab.count));
        inner.all(|(a, b)| a == b).then_some(to as usize * self.datatype.size as usize)
    }

    fn copy(&self, plan: &Plan, piece: &Piece, data: &[u8], shape: &[u64], out: &mut [u8]) -> Result<()> {
        let (wide, narrow) = (self.dataset.datatype.size as usize, self.datatype.size as usize);
        let (source, target) = (strides(shape), strides(&plan.slab.count));
        let to = super::plan::linear(&piece.start, &target);
        let (mut fits, as_they_are) = (true, self.native.is_nothing());
        runs(&piece.count, (piece.from, &source), (to, &target), |from, to, len| {
            let input = usize::try_from(from).ok().zip(usize::try_from(len).ok());
            let input = input.and_then(|(from, len)| data.get(from * wide..(from + len) * wide));
            let (Some(input), Some(output)) = (input, part(out, to, len, narrow)) else {
                fits = false;
                return;
            };
            if wide == narrow {
                output.copy_from_slice(input);
            } else {
                pick(input, wide, self.offset, narrow, output);
            }
            if !as_they_are {
                self.native.apply(output);
            }
        });
        if fits { Ok(()) } else { Err(Error::Request("a piece does not fit its bytes".to_owned())) }
    }
}

/// Elements of the output.
fn part(out: &mut [u8], from: u64, len: u64, size: usize) -> Option<&mut [u8]> {
    let (from, len) = (usize::try_from(from).ok()?, usize::try_from(len).ok()?);
    out.get_mut(from.checked_mul(size)?..from.checked_add(len)?.checked_mul(size)?)
}
