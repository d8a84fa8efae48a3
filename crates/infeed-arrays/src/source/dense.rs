//! Rows that lie in files as they do in batches: copied from a mapping, or read with their neighbours.

use super::{ArraySource, axis_of};
use crate::{array::Dense, shared::copy_shared};
use infeed_core::{Error, Result};
use std::ops::Range;

/// Bytes of one read: longer runs of neighbours are cut.
const MOST: u64 = 16 << 20;

/// Rows that are read together: the first of them and its place, how many, and their bytes in the file.
struct Run {
    place: usize,
    rows: usize,
    bytes: Range<u64>,
}

impl ArraySource {
    /// How the rows of a field lie in a part, if they can be taken as they are.
    pub(super) fn dense(&self, part: usize, field: usize) -> Option<Dense> {
        let array = &self.parts[part].arrays[field];
        array.dense(axis_of(self.axis, array.shape().len())?)
    }

    /// Writes a field of rows that are all in one part. `rows` are their numbers there and their places in `out`, ascending.
    pub(super) fn write_dense(
        &self,
        part: usize,
        dense: Dense,
        rows: &[(u64, usize)],
        out: &mut [u8],
    ) -> Result<()> {
        let object = &self.objects[self.parts[part].object];
        let lost = || Error::Internal { what: "a row outside of its batch".to_owned() };
        let width = usize::try_from(dense.bytes).map_err(|_| lost())?;
        if object.goes_straight(0) {
            for (row, place) in rows {
                let to = out.get_mut(place * width..(place + 1) * width).ok_or_else(lost)?;
                let from = object.peek(dense.at + row * dense.bytes, width).ok_or_else(lost)?;
                copy_shared(from, to)?;
            }
            return Ok(());
        }
        let mut small: Vec<Run> = Vec::new();
        let mut at = 0;
        while at < rows.len() {
            let (first, place) = rows[at];
            // Neighbours in the file and in the batch are one read, and so are neighbours in the file alone.
            let beside = |n: usize| rows.get(at + n).is_some_and(|(row, _)| *row == first + n as u64);
            let most = (MOST / dense.bytes.max(1)).max(1) as usize;
            let count = (1..most).take_while(|n| beside(*n)).count() + 1;
            let start = dense.at + first * dense.bytes;
            let bytes = start..start + count as u64 * dense.bytes;
            let together = rows[at..at + count].iter().enumerate().all(|(n, (_, to))| *to == place + n);
            if together && object.goes_straight(bytes.end - bytes.start) {
                let to = out.get_mut(place * width..(place + count) * width).ok_or_else(lost)?;
                object.read_large(start, to)?;
            } else {
                small.push(Run { place: at, rows: count, bytes });
            }
            at += count;
        }
        let ranges: Vec<Range<u64>> = small.iter().map(|run| run.bytes.clone()).collect();
        let read = if ranges.is_empty() { Vec::new() } else { object.read(&ranges)? };
        for (run, bytes) in small.iter().zip(&read) {
            if bytes.len() as u64 != run.bytes.end - run.bytes.start {
                return Err(lost());
            }
            for ((_, place), from) in
                rows[run.place..run.place + run.rows].iter().zip(bytes.chunks_exact(width.max(1)))
            {
                out.get_mut(place * width..(place + 1) * width).ok_or_else(lost)?.copy_from_slice(from);
            }
        }
        Ok(())
    }
}
