//! Scans a file for its rows.

use crate::layout::rows::{FirstRows, LOOK, Row, RowLayout, RowPlaces, said};
use infeed_core::{Bytes, Error, Result, Shard, Store, StoreExt, parallel};
use infeed_records::split::Split;
use std::ops::Range;

/// Size of one read.
const PIECE: u64 = 4 << 20;
/// Files of lines are split into parts of this size for several threads.
const PART: u64 = 64 << 20;
/// Bytes read to find the next line.
const SEEK: u64 = 16 << 10;

/// Finds the rows of a file.
pub(super) fn find(
    layout: &dyn RowLayout,
    store: &dyn Store,
    shard: &Shard,
    threads: usize,
) -> Result<RowPlaces> {
    find_in(layout, store, shard, threads, PART)
}

/// Like [`find`], with parts of another size.
pub(super) fn find_in(
    layout: &dyn RowLayout,
    store: &dyn Store,
    shard: &Shard,
    threads: usize,
    size: u64,
) -> Result<RowPlaces> {
    if let Some(found) = layout.find(store, shard)? {
        return Ok(found.shrink());
    }
    let cut = layout.lines().is_some() && threads > 1 && shard.size > size;
    if !cut {
        return Ok(part(layout, store, shard, 0..shard.size)?.0.shrink());
    }
    let mut starts = vec![0];
    for at in (size..shard.size).step_by(size as usize) {
        let start = line_after(store, shard, at)?;
        if starts.last().is_some_and(|last| *last < start) {
            starts.push(start);
        }
    }
    starts.push(shard.size);
    let parts =
        parallel::map(starts.len() - 1, threads, |i| part(layout, store, shard, starts[i]..starts[i + 1]))?;
    let mut parts = parts.into_iter();
    let Some((mut all, mut rest)) = parts.next() else { return Ok(RowPlaces::new(0, layout.numbered())) };
    for (found, after) in parts {
        let none = found.rows() == 0;
        all.append(&found, rest)?;
        rest = if none { (rest.0 + after.0, rest.1 + after.1) } else { after };
    }
    Ok(all.shrink())
}

/// Returns the offset of the first line that starts at or after `at`.
fn line_after(store: &dyn Store, shard: &Shard, at: u64) -> Result<u64> {
    let mut from = at - 1;
    while from < shard.size {
        let to = (from + SEEK).min(shard.size);
        if let Some(found) = memchr::memchr(b'\n', &store.read_one(shard, from..to)?) {
            return Ok(from + found as u64 + 1);
        }
        from = to;
    }
    Ok(shard.size)
}

/// Finds the rows of a part of a file, and the bytes and lines after the last one.
fn part(
    layout: &dyn RowLayout,
    store: &dyn Store,
    shard: &Shard,
    range: Range<u64>,
) -> Result<(RowPlaces, (u64, u32))> {
    let mut split: Box<dyn Split> = layout.splitter();
    let mut found = RowPlaces::new(range.start, layout.numbered());
    let mut titles = layout.titled() && range.start == 0;
    let (mut held, mut ends, mut at) = (Vec::new(), Vec::new(), range.start);
    loop {
        let to = (at + PIECE).min(range.end);
        let piece = store.read_one(shard, at..to)?;
        at = to;
        let last = at == range.end;
        // The leftover is usually short; without it the piece need not be copied.
        let bytes: &[u8] = if held.is_empty() {
            &piece
        } else {
            held.extend_from_slice(&piece);
            &held
        };
        ends.clear();
        let base = at - bytes.len() as u64;
        let row = found.rows();
        let damaged =
            |what: Error| Error::Format { shard: shard.name.to_string(), offset: base, what: said(what) };
        split.split(bytes, last, &mut ends).map_err(damaged)?;
        let mut start = 0;
        for end in &ends {
            let len = (end.at - start) as u64;
            start = end.at;
            if len > layout.largest() {
                return Err(too_long(layout, shard, found.rows(), base));
            }
            if std::mem::take(&mut titles) {
                found = found.titled(end);
            } else {
                found.push(len, end.lines).map_err(damaged)?;
            }
        }
        let left = &bytes[start..];
        if left.len() as u64 > layout.largest() {
            return Err(too_long(layout, shard, row + ends.len() as u64, base));
        }
        if last {
            let lines = memchr::memchr_iter(b'\n', left).count() as u32;
            return Ok((found, (left.len() as u64, lines)));
        }
        if held.is_empty() {
            held.extend_from_slice(&piece[start..]);
        } else {
            held.drain(..start);
        }
    }
}

fn too_long(layout: &dyn RowLayout, shard: &Shard, row: u64, offset: u64) -> Error {
    let what = format!("row {row} has more than {} bytes; max_row=... allows longer ones", layout.largest());
    Error::Format { shard: shard.name.to_string(), offset, what }
}

/// The first rows of a file.
pub(super) fn head(
    layout: &dyn RowLayout,
    store: &dyn Store,
    shard: &Shard,
    found: &RowPlaces,
) -> Result<FirstRows> {
    let mut rows = 0;
    let mut end = found.start;
    while rows < layout.look() as u64
        && let Some(range) = found.range(rows)
        && (rows == 0 || range.end <= found.start + LOOK)
    {
        (rows, end) = (rows + 1, range.end);
    }
    let from = if layout.titled() { 0 } else { found.start };
    let bytes = store.read_one(shard, from..end)?;
    let piece = |range: Range<u64>| bytes.slice((range.start - from) as usize..(range.end - from) as usize);
    let titles = if layout.titled() { piece(0..found.start) } else { Bytes::new() };
    let row = |number| Some(Row { number, line: found.line_of(number), bytes: piece(found.range(number)?) });
    Ok(FirstRows { titles, rows: (0..rows).filter_map(row).collect() })
}
