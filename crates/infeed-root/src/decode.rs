//! Entries of columns out of baskets.

use crate::{
    basket::{self, Bounds, Scratch, Unpacked},
    cells::Cells,
    error::{Error, Result},
    tree::{
        Tree,
        branch::{Basket, Place},
        columns::{Column, Layout, VECTOR_HEAD},
    },
    turn::turn,
};
use bytes::Bytes;
use infeed_core::{blocks::Spares, memory};
use std::ops::Range;

/// Bytes that one column of a block may have.
const LARGEST_CELLS: usize = 1 << 31;
/// Memory is taken at once if it is at most so many times what was read; more is taken as baskets give it.
const PLAUSIBLE: usize = 64;

/// A basket that a range of entries needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) branch: usize,
    pub(crate) basket: usize,
}

/// The baskets that these columns need for some entries, branch after branch, each once.
pub(crate) fn needs(tree: &Tree, columns: &[usize], rows: &Range<u64>) -> Vec<Need> {
    let mut branches: Vec<usize> = columns.iter().map(|column| tree.columns[*column].branch).collect();
    branches.sort_unstable();
    branches.dedup();
    let mut out = Vec::new();
    for branch in branches {
        let baskets = &tree.branches[branch].baskets;
        let first = baskets.partition_point(|basket| basket.first + basket.entries <= rows.start);
        let own = baskets.iter().enumerate().skip(first).take_while(|(_, basket)| basket.first < rows.end);
        out.extend(own.map(|(basket, _)| Need { branch, basket }));
    }
    out
}

impl Need {
    pub(crate) fn basket<'a>(&self, tree: &'a Tree) -> &'a Basket {
        &tree.branches[self.branch].baskets[self.basket]
    }

    /// Its bytes in the file, if it lies there.
    pub(crate) fn range(&self, tree: &Tree) -> Option<Range<u64>> {
        match &self.basket(tree).place {
            Place::File { seek, bytes } => Some(*seek..seek.saturating_add(*bytes)),
            Place::Tree(_) => None,
        }
    }
}

/// Decodes entries of columns. `stored` are the bytes of those needs that have a range, in order.
pub(crate) fn decode(
    tree: &Tree,
    columns: &[usize],
    rows: &Range<u64>,
    (needs, stored): (&[Need], &[Bytes]),
    (spares, scratch): (&Spares, &mut Scratch),
) -> Result<Vec<Cells>> {
    let count = usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
    let read: usize = stored.iter().map(Bytes::len).sum();
    let mut building = Vec::with_capacity(columns.len());
    for column in columns {
        building.push(Building::new(&tree.columns[*column], count, read, spares)?);
    }
    let mut stored = stored.iter();
    for need in needs {
        let basket = need.basket(tree);
        let name = &tree.branches[need.branch].name;
        let from = rows.start.saturating_sub(basket.first) as usize;
        let to = (rows.end.min(basket.first + basket.entries) - basket.first) as usize;
        let place =
            |error: Error| error.inside(&format!("branch `{name}`, entries from {} on", basket.first));
        let unpacked = match &basket.place {
            Place::File { seek, .. } => {
                let bytes = stored.next().ok_or_else(|| Error::damaged(*seek, "a basket was not read"))?;
                basket::unpack(bytes, *seek, basket.entries, scratch).map_err(place)?
            }
            Place::Tree(embedded) => embedded.unpacked(),
        };
        let entries = basket.entries as usize;
        for (column, cells) in columns.iter().zip(&mut building) {
            let column = &tree.columns[*column];
            if column.branch == need.branch {
                cells.add(column, &unpacked, entries, from..to).map_err(place)?;
            }
        }
    }
    let finished = |(cells, column): (Building, &usize)| cells.finish(&tree.columns[*column], count);
    building.into_iter().zip(columns).map(finished).collect()
}

/// Cells in the making.
struct Building {
    data: Vec<u8>,
    /// Bytes of it that were written.
    used: usize,
    ends: Vec<u32>,
}

impl Building {
    fn new(column: &Column, count: usize, read: usize, spares: &Spares) -> Result<Building> {
        let mut data = Vec::new();
        if let Layout::Flat { width, .. } = column.layout {
            let all = count.checked_mul(width).filter(|all| *all <= LARGEST_CELLS);
            let all = all.ok_or_else(|| too_large(column))?;
            if all / PLAUSIBLE <= read + 1024 {
                data = spares.take(all)?;
            }
        }
        Ok(Building { data, used: 0, ends: Vec::new() })
    }

    /// The next bytes to write.
    fn room(&mut self, column: &Column, bytes: usize) -> Result<&mut [u8]> {
        let (begin, end) = (self.used, self.used.saturating_add(bytes));
        if end > LARGEST_CELLS {
            return Err(too_large(column));
        }
        if end > self.data.len() {
            memory::resize(&mut self.data, end)?;
        }
        self.used = end;
        Ok(&mut self.data[begin..end])
    }

    /// Adds some entries of a basket.
    fn add(
        &mut self,
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
                let to = self.room(column, rows.len() * width)?;
                if width == stride {
                    turn(column.dtype, from, to);
                } else {
                    let entries = from.chunks_exact(stride).zip(to.chunks_exact_mut(width));
                    entries.for_each(|(from, to)| turn(column.dtype, &from[at..at + width], to));
                }
                Ok(())
            }
            Layout::Jagged { head: 0, item } => {
                let bounds = basket.bounds(entries)?;
                let first = bounds.start(rows.start)?;
                let begin = self.used;
                memory::reserve(&mut self.ends, rows.len())?;
                let mut before = first;
                for row in rows {
                    let end = bounds.start(row + 1)?;
                    let len = end.checked_sub(before).filter(|len| len.is_multiple_of(item));
                    if len.is_none() {
                        let what =
                            format!("entry {row} has the bytes {before} to {end}, not items of {item} bytes");
                        return Err(basket.wrong(what));
                    }
                    self.ends.push(ending(column, begin + end - first)?);
                    before = end;
                }
                let to = self.room(column, before - first)?;
                turn(column.dtype, &basket.data[first..before], to);
                Ok(())
            }
            Layout::Jagged { .. } | Layout::Text => {
                let bounds = basket.bounds(entries)?;
                memory::reserve(&mut self.ends, rows.len())?;
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
                    turn(column.dtype, content, self.room(column, content.len())?);
                    self.ends.push(ending(column, self.used)?);
                }
                Ok(())
            }
        }
    }

    fn finish(mut self, column: &Column, count: usize) -> Result<Cells> {
        let lost = || Error::damaged(0, format!("`{}` has fewer entries than its tree", column.name));
        match column.layout {
            Layout::Flat { width, .. } => {
                if count.checked_mul(width) != Some(self.used) || self.data.len() != self.used {
                    return Err(lost());
                }
                Ok(Cells::Rows { width, data: self.data })
            }
            _ if self.ends.len() != count => Err(lost()),
            _ => {
                self.data.truncate(self.used);
                Ok(Cells::Ragged { ends: self.ends, data: self.data })
            }
        }
    }
}

fn too_large(column: &Column) -> Error {
    Error::Unsupported(format!(
        "entries of `{}` that lie together take more than 2 GiB; write smaller baskets",
        column.name
    ))
}

fn ending(column: &Column, end: usize) -> Result<u32> {
    u32::try_from(end).ok().filter(|end| *end as usize <= LARGEST_CELLS).ok_or_else(|| too_large(column))
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
