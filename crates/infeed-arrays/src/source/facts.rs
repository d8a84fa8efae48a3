//! How variables lie in their files, for `infeed inspect`.

use super::{ArraySource, build::LARGEST_BLOCK};
use crate::array::{Array, Element, Slab};
use infeed_core::{Result, Variable, memory::readable};

/// A good chunk has about this many bytes, where rows are small or large.
const GOOD: u64 = 1 << 20;
const LARGE: u64 = 16 << 20;
/// More chunks for one row than this cost more than their bytes.
const MANY: usize = 256;
/// Bytes that may be decoded for each byte of a row.
const WASTE: u64 = 4;

impl ArraySource {
    /// How the variables of the first file lie in it.
    pub(super) fn facts(&self) -> Vec<Variable> {
        let Some(part) = self.parts.first() else { return Vec::new() };
        let one = |field: usize| {
            let (array, name) = (&*part.arrays[field], &self.spec.fields[field].0);
            let size = array.element().size() as u64;
            let middle = self.rows.lens()[0] / 2;
            let row = self.slab(array, middle..middle + 1);
            let (read, decoded, pieces) = touched(array, &row).unwrap_or_default();
            let (stored, ..) = touched(array, &Slab::all(array.shape())).unwrap_or_default();
            let mut fact = Variable {
                name: name.clone(),
                dtype: match array.element() {
                    Element::Number(dtype) => dtype.name().to_owned(),
                    Element::Text(_) => "text".to_owned(),
                },
                shape: array.shape().to_vec(),
                dimensions: part.dimensions.get(name).cloned().unwrap_or_default(),
                chunk: array.chunk().map(<[u64]>::to_vec),
                filters: array.filters(),
                bytes: array.shape().iter().fold(size, |all, side| all.saturating_mul(*side)),
                stored,
                row: self.width(0, field),
                read,
                decoded,
                advice: None,
            };
            fact.advice = self.advice(&fact, &row, pieces);
            fact
        };
        (0..part.arrays.len()).map(one).collect()
    }

    /// What is wrong with the chunks of a variable, if rows are read in any order.
    fn advice(&self, fact: &Variable, row: &Slab, pieces: usize) -> Option<String> {
        let chunk = fact.chunk.as_deref()?;
        let size = fact.bytes.checked_div(fact.shape.iter().product())?.max(1);
        let waste = fact.decoded / fact.row.max(1);
        // Blocks of rows are decoded once and kept, as long as they are not too large for that.
        let along = row.count.iter().zip(chunk).position(|(count, side)| *count == 1 && *side > 1);
        let kept = along.is_some() && fact.decoded <= LARGEST_BLOCK;
        let problem = if self.axis.is_some() && waste >= WASTE && !kept {
            format!(
                "a row of {} needs {} decoded, and so much is not kept",
                readable(fact.row),
                readable(fact.decoded)
            )
        } else if pieces > MANY {
            format!("a row of {} is in {pieces} chunks", readable(fact.row))
        } else {
            return None;
        };
        Some(format!(
            "{problem}; chunks of {:?} would be better",
            better(&row.count, &fact.shape, along, size)
        ))
    }
}

/// Chunks for rows of a box: several small rows, one row, or parts of a large one.
fn better(row: &[u64], shape: &[u64], along: Option<usize>, size: u64) -> Vec<u64> {
    let mut chunk = row.to_vec();
    let bytes = |chunk: &[u64]| chunk.iter().fold(size, |all, side| all.saturating_mul(*side));
    if let Some(axis) = along
        && bytes(&chunk) < GOOD / 2
    {
        chunk[axis] = (GOOD / bytes(&chunk).max(1)).clamp(1, shape[axis].max(1));
    }
    while bytes(&chunk) > LARGE {
        // The longest axis is halved.
        let Some(longest) = (0..chunk.len()).max_by_key(|axis| chunk[*axis]).filter(|axis| chunk[*axis] > 1)
        else {
            break;
        };
        chunk[longest] = chunk[longest].div_ceil(2);
    }
    chunk
}

/// Bytes in the store that a box needs, bytes that are decoded for it, and its pieces.
fn touched(array: &dyn Array, slab: &Slab) -> Result<(u64, u64, usize)> {
    let pieces = array.plan(slab)?;
    let ranges = (0..pieces.len()).filter_map(|piece| pieces.range(piece));
    let read = ranges.map(|range| range.end.saturating_sub(range.start)).sum();
    let size = array.element().size() as u64;
    let decoded = match array.chunk() {
        Some(chunk) => {
            let one = chunk.iter().fold(size, |all, side| all.saturating_mul(*side));
            one.saturating_mul(pieces.len() as u64)
        }
        None => slab.elements().saturating_mul(size),
    };
    Ok((read, decoded, pieces.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_chunks_are_neither_small_nor_large() {
        // Volumes of 2 MB: one a chunk. Rows of 4 KB: 256 of them. Volumes of 512 MB: parts of 16.
        assert_eq!(better(&[1, 128, 64, 64], &[50, 128, 64, 64], Some(0), 4), [1, 128, 64, 64]);
        assert_eq!(better(&[1, 1024], &[100_000, 1024], Some(0), 4), [256, 1024]);
        assert_eq!(better(&[1, 1024], &[10, 1024], Some(0), 4), [10, 1024]);
        assert_eq!(better(&[1, 512, 512, 512], &[8, 512, 512, 512], Some(0), 4), [1, 256, 128, 128]);
        assert_eq!(better(&[], &[], None, 8), [0u64; 0]);
    }
}
