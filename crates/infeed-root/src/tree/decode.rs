//! Entries of columns out of baskets.

use super::{
    Tree,
    basket::{self, Bounds, Unpacked},
    branch::{Basket, Place},
    columns::{Column, Layout, VECTOR_HEAD},
};
use crate::{
    bytes::FileBytes,
    cells::{Building, Cells, Memory},
    error::{Error, Result},
};
use bytes::Bytes;
use std::ops::Range;

/// The baskets of a branch that some entries need.
pub(super) fn needs<'a>(
    tree: &'a Tree,
    branch: usize,
    rows: &Range<u64>,
) -> impl Iterator<Item = &'a Basket> {
    let baskets = &tree.branches[branch].baskets;
    let first = baskets.partition_point(|basket| basket.first + basket.entries <= rows.start);
    let end = rows.end;
    baskets[first..].iter().take_while(move |basket| basket.first < end)
}

impl Basket {
    /// Its bytes in the file, if it lies there.
    pub(super) fn range(&self) -> Option<Range<u64>> {
        match &self.place {
            Place::File { seek, bytes } => Some(*seek..seek.saturating_add(*bytes)),
            Place::Tree(_) => None,
        }
    }
}

/// Reads all baskets of some entries of a column at once, and decodes them.
pub(super) fn cells(
    tree: &Tree,
    file: &dyn FileBytes,
    column: usize,
    rows: &Range<u64>,
    memory: &mut Memory<'_>,
) -> Result<Cells> {
    let column = &tree.columns[column];
    let ranges: Vec<Range<u64>> = needs(tree, column.branch, rows).filter_map(Basket::range).collect();
    let stored = file.read(&ranges)?;
    let count = usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
    let read: usize = stored.iter().map(Bytes::len).sum();
    let mut cells = match column.layout {
        Layout::Flat { width, .. } => {
            Building::rows(&column.name, (count, column.in_memory(width)), read, memory.spares)?
        }
        _ => Building::ragged(&column.name),
    };
    let mut stored = stored.iter();
    for basket in needs(tree, column.branch, rows) {
        let name = &tree.branches[column.branch].name;
        let from = rows.start.saturating_sub(basket.first) as usize;
        let to = (rows.end.min(basket.first + basket.entries) - basket.first) as usize;
        let place =
            |error: Error| error.inside(&format!("branch `{name}`, entries from {} on", basket.first));
        let unpacked = match &basket.place {
            Place::File { seek, .. } => {
                let bytes = stored.next().ok_or_else(|| Error::damaged(*seek, "a basket was not read"))?;
                let packed = basket::open(bytes, *seek, basket.entries).map_err(place)?;
                let whole =
                    basket.entries.checked_mul(column.spread() as u64).filter(|_| column.is_turned_later());
                if let Some(len) = packed.plain()
                    && whole == Some(len as u64)
                    && to - from == basket.entries as usize
                    && cells.has_room(len)
                {
                    packed.write(cells.room(len)?, memory.work).map_err(place)?;
                    continue;
                }
                packed.unpack(memory.work).map_err(place)?
            }
            Place::Tree(embedded) => embedded.unpacked(),
        };
        add(&mut cells, column, &unpacked, basket.entries as usize, from..to).map_err(place)?;
    }
    match column.layout {
        Layout::Flat { width, .. } => {
            let unturned = column.is_turned_later().then_some(column.dtype);
            cells.finish_rows((count, column.in_memory(width)), unturned)
        }
        _ => cells.finish_ragged(count),
    }
}

/// Adds some entries of a basket.
fn add(
    cells: &mut Building<'_>,
    column: &Column,
    basket: &Unpacked<'_>,
    entries: usize,
    rows: Range<usize>,
) -> Result<()> {
    match column.layout {
        Layout::Flat { at, width, stride } => {
            if entries.checked_mul(stride) != Some(basket.data.len()) {
                let what = format!("{entries} entries of {stride} bytes in {} bytes", basket.data.len());
                return Err(basket.wrong(what));
            }
            let from = &basket.data[rows.start * stride..rows.end * stride];
            let width_here = column.in_memory(width);
            let to = cells.room(rows.len() * width_here)?;
            if column.is_turned_later() {
                to.copy_from_slice(from);
            } else if width == stride {
                column.write(from, to);
            } else {
                let entries = from.chunks_exact(stride).zip(to.chunks_exact_mut(width_here));
                entries.for_each(|(from, to)| column.write(&from[at..at + width], to));
            }
        }
        Layout::Jagged { head: 0, item } => {
            let bounds = basket.bounds(entries)?;
            let first = bounds.start(rows.start)?;
            let begin = cells.used();
            cells.expect(rows.len())?;
            let mut before = first;
            for row in rows {
                let end = bounds.start(row + 1)?;
                let len = end.checked_sub(before).filter(|len| len.is_multiple_of(item));
                if len.is_none() {
                    let what =
                        format!("entry {row} has the bytes {before} to {end}, not items of {item} bytes");
                    return Err(basket.wrong(what));
                }
                cells.end(begin + column.in_memory(end - first))?;
                before = end;
            }
            let to = cells.room(column.in_memory(before - first))?;
            column.write(&basket.data[first..before], to);
        }
        Layout::Jagged { .. } | Layout::Text => {
            let bounds = basket.bounds(entries)?;
            cells.expect(rows.len())?;
            for row in rows {
                let entry = entry(basket, &bounds, row)?;
                let content = match column.layout {
                    Layout::Text => text(entry),
                    _ => vector(entry, column.dtype.size()),
                };
                let content = content.ok_or_else(|| {
                    let what = format!(
                        "entry {row} has {} bytes, which is not the length that it gives",
                        entry.len()
                    );
                    basket.wrong(what)
                })?;
                column.write(content, cells.room(content.len())?);
                cells.end(cells.used())?;
            }
        }
    }
    Ok(())
}

/// The bytes of an entry.
fn entry<'a>(basket: &Unpacked<'a>, bounds: &Bounds<'_>, row: usize) -> Result<&'a [u8]> {
    let (start, end) = (bounds.start(row)?, bounds.start(row + 1)?);
    basket.data.get(start..end).ok_or_else(|| basket.wrong(format!("entry {row} ends before it begins")))
}

/// The text of an entry.
fn text(entry: &[u8]) -> Option<&[u8]> {
    match entry {
        [] => Some(&[]),
        [255, a, b, c, d, rest @ ..] => {
            (rest.len() == u32::from_be_bytes([*a, *b, *c, *d]) as usize).then_some(rest)
        }
        [len, rest @ ..] => (rest.len() == usize::from(*len)).then_some(rest),
    }
}

/// The elements of a vector.
fn vector(entry: &[u8], size: usize) -> Option<&[u8]> {
    let (head, rest) = entry.split_first_chunk::<VECTOR_HEAD>()?;
    let count = u32::from_be_bytes([head[6], head[7], head[8], head[9]]) as usize;
    (count.checked_mul(size) == Some(rest.len())).then_some(rest)
}
