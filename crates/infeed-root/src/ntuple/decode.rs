//! Entries of columns out of pages.

use super::{
    Ntuple,
    encoding::Encoding,
    fields::{Choice, Column, Shape},
    pages::Page,
    stretch::{Part, Stretch, before},
};
use crate::{
    bytes::FileBytes,
    cells::{Building, Cells, Memory, Work},
    error::{Error, Result},
    hash3::xxh3,
    key::LARGEST,
    pack,
};
use bytes::Bytes;
use infeed_core::{Dtype, memory};
use std::ops::Range;

/// Bytes of zeros that are not stored, in one block.
const MOST_ZEROS: u64 = 256 << 20;

/// The bytes of a page, unpacked.
fn unpack<'a>(page: &Page, encoding: Encoding, stored: &'a [u8], work: &'a mut Work) -> Result<&'a [u8]> {
    let wrong = |what: &str| Error::damaged(page.seek, what);
    let (body, sum) = stored.split_at_checked(page.bytes as usize).ok_or_else(|| wrong("a page is cut"))?;
    if page.checked && sum != xxh3(body).to_le_bytes() && !cfg!(fuzzing) {
        return Err(wrong("the checksum of a page is wrong"));
    }
    let len = encoding.bytes(page.elements as usize);
    if body.len() == len {
        return Ok(body);
    }
    if len > LARGEST {
        return Err(Error::Unsupported(format!("a page of {len} bytes; write smaller ones")));
    }
    pack::unpack(body, len, page.seek, &mut work.out, &mut work.codecs)
}

/// Adds wanted elements of a page to cells.
fn add(
    cells: &mut Building<'_>,
    (page, wanted): (&Page, Range<usize>),
    (encoding, dtype): (Encoding, Dtype),
    stored: &[u8],
    work: &mut Work,
) -> Result<()> {
    let size = dtype.size();
    let mut more = std::mem::take(&mut work.more);
    let unpacked = unpack(page, encoding, stored, work)?;
    let bytes = wanted.len() * size;
    if encoding.is_plain(dtype) {
        cells.room(bytes)?.copy_from_slice(&unpacked[wanted.start * size..wanted.end * size]);
    } else if wanted.len() == page.elements as usize {
        encoding.decode(dtype, unpacked, cells.room(bytes)?, &mut more)?;
    } else {
        let mut whole = Vec::new();
        memory::resize(&mut whole, page.elements as usize * size)?;
        encoding.decode(dtype, unpacked, &mut whole, &mut more)?;
        cells.room(bytes)?.copy_from_slice(&whole[wanted.start * size..wanted.end * size]);
    }
    work.more = more;
    Ok(())
}

/// Adds zeros that are not stored.
fn add_zeros(cells: &mut Building<'_>, elements: u64, dtype: Dtype) -> Result<()> {
    let bytes = elements.saturating_mul(dtype.size() as u64);
    if bytes > MOST_ZEROS {
        return Err(Error::Unsupported(format!("{bytes} bytes of zeros that are not stored")));
    }
    cells.room(bytes as usize)?.fill(0);
    Ok(())
}

impl Ntuple {
    /// Reads and decodes some entries of a column.
    pub(super) fn decode(
        &self,
        file: &dyn FileBytes,
        column: &Column,
        rows: &Range<u64>,
        memory: &mut Memory<'_>,
    ) -> Result<Cells> {
        let count = usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
        match &column.shape {
            Shape::Flat(data, item) => self.flat(file, column, (data, *item), (rows, count), memory),
            Shape::Ragged { ends, data, item } => {
                let mut cells = Building::ragged(&column.name);
                let whole = |part: &Part<'_>| part.1.start == 0 && part.1.end == part.0.entries;
                let mut stretches = Vec::new();
                let mut ranges = Vec::new();
                for part in self.parts(rows) {
                    let own = self.stretch(part.0, ends, Some(part.0.entries))?;
                    let data = self.stretch(part.0, data, None)?;
                    ranges.extend(own.needs(before(&part.1)).map(|(page, _)| page.range()));
                    if whole(&part) {
                        ranges.extend(data.needs(0..data.total()).map(|(page, _)| page.range()));
                    }
                    stretches.push((part, own, data));
                }
                let mut stored = file.read(&ranges)?.into_iter();
                for (part, own, data) in stretches {
                    let place = |error: Error| error.inside(&format!("entries from {} on", part.0.first));
                    let ends = self.ends(&own, &part.1, &mut stored, memory.work).map_err(place)?;
                    let items = span(&ends, *item, &data, whole(&part)).map_err(place)?;
                    let wanted: Vec<_> = data.needs(items.clone()).collect();
                    let mut later = Vec::new().into_iter();
                    if !whole(&part) {
                        let ranges: Vec<_> = wanted.iter().map(|(page, _)| page.range()).collect();
                        later = file.read(&ranges)?.into_iter();
                    }
                    let (begin, size) = (cells.used(), item * column.dtype.size());
                    cells.expect(ends.len())?;
                    for end in &ends[1..] {
                        let items = usize::try_from(end - ends[0]).unwrap_or(usize::MAX);
                        cells.end(begin.saturating_add(items.saturating_mul(size)))?;
                    }
                    for need in wanted {
                        let bytes =
                            if whole(&part) { stored.next() } else { later.next() }.unwrap_or_default();
                        add(&mut cells, need, (data.encoding, column.dtype), &bytes, memory.work)
                            .map_err(place)?;
                    }
                }
                cells.finish_ragged(count)
            }
            Shape::Sizes(ends) => self.sizes(file, column, ends, (rows, count), memory),
        }
    }

    /// Entries of so many elements.
    fn flat(
        &self,
        file: &dyn FileBytes,
        column: &Column,
        (data, item): (&Choice, usize),
        (rows, count): (&Range<u64>, usize),
        memory: &mut Memory<'_>,
    ) -> Result<Cells> {
        let width = item * column.dtype.size();
        let mut stretches = Vec::new();
        let mut ranges = Vec::new();
        for (cluster, part) in self.parts(rows) {
            let all = cluster.entries.checked_mul(item as u64);
            let all = all.ok_or_else(|| Error::damaged(0, "endless elements"))?;
            let stretch = self.stretch(cluster, data, Some(all))?;
            let wanted = part.start * item as u64..part.end * item as u64;
            ranges.extend(stretch.needs(wanted.clone()).map(|(page, _)| page.range()));
            stretches.push((cluster, stretch, wanted));
        }
        let stored = file.read(&ranges)?;
        let read = stored.iter().map(Bytes::len).sum();
        let mut stored = stored.into_iter();
        let mut cells = Building::rows(&column.name, (count, width), read, memory.spares)?;
        for (cluster, stretch, wanted) in stretches {
            let place = |error: Error| error.inside(&format!("entries from {} on", cluster.first));
            add_zeros(&mut cells, stretch.zeros(&wanted), column.dtype).map_err(place)?;
            for need in stretch.needs(wanted) {
                let bytes = stored.next().unwrap_or_default();
                add(&mut cells, need, (stretch.encoding, column.dtype), &bytes, memory.work)
                    .map_err(place)?;
            }
        }
        cells.finish_rows((count, width), None)
    }

    /// How many items the entries of a collection have.
    fn sizes(
        &self,
        file: &dyn FileBytes,
        column: &Column,
        ends: &Choice,
        (rows, count): (&Range<u64>, usize),
        memory: &mut Memory<'_>,
    ) -> Result<Cells> {
        let mut cells = Building::ragged(&column.name);
        for (cluster, part) in self.parts(rows) {
            let place = |error: Error| error.inside(&format!("entries from {} on", cluster.first));
            let stretch = self.stretch(cluster, ends, Some(cluster.entries))?;
            let ranges: Vec<_> = stretch.needs(before(&part)).map(|(page, _)| page.range()).collect();
            let mut stored = file.read(&ranges)?.into_iter();
            let ends = self.ends(&stretch, &part, &mut stored, memory.work).map_err(place)?;
            for pair in ends.windows(2) {
                let size = pair[1].checked_sub(pair[0]);
                let size = size.filter(|size| column.dtype == Dtype::U64 || *size <= u64::from(u32::MAX));
                let size = size.ok_or_else(|| place(Error::damaged(0, "a list ends before it begins")))?;
                match column.dtype {
                    Dtype::U32 => cells.room(4)?.copy_from_slice(&(size as u32).to_ne_bytes()),
                    _ => cells.room(8)?.copy_from_slice(&size.to_ne_bytes()),
                }
            }
        }
        cells.finish_rows((count, column.dtype.size()), None)
    }

    /// Where the entries of a collection end, and before them where the first one begins.
    fn ends(
        &self,
        stretch: &Stretch<'_>,
        part: &Range<u64>,
        stored: &mut dyn Iterator<Item = Bytes>,
        work: &mut Work,
    ) -> Result<Vec<u64>> {
        let wanted = before(part);
        let mut out = Vec::new();
        if part.start == 0 {
            out.push(0);
        }
        let zeros = stretch.zeros(&wanted);
        if zeros > MOST_ZEROS / 8 {
            return Err(Error::Unsupported(format!("{zeros} zeros that are not stored")));
        }
        let len = out.len() + zeros as usize;
        memory::resize(&mut out, len)?;
        let mut more = std::mem::take(&mut work.more);
        let mut whole = Vec::new();
        for (page, own) in stretch.needs(wanted) {
            let bytes = stored.next().unwrap_or_default();
            let unpacked = unpack(page, stretch.encoding, &bytes, work)?;
            whole.clear();
            stretch.encoding.ends(unpacked, &mut whole, &mut more)?;
            memory::reserve(&mut out, own.len())?;
            out.extend_from_slice(&whole[own]);
        }
        work.more = more;
        Ok(out)
    }
}

/// The elements between the first and the last end, which must follow each other and be there.
fn span(ends: &[u64], item: usize, data: &Stretch<'_>, whole: bool) -> Result<Range<u64>> {
    let wrong = |what: String| Error::damaged(0, what);
    if let Some(at) = ends.windows(2).position(|pair| pair[1] < pair[0]) {
        return Err(wrong(format!("list {at} ends before it begins")));
    }
    let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
        return Err(wrong("lists without ends".to_owned()));
    };
    let total = data.total();
    let end = last.checked_mul(item as u64).filter(|end| *end == total || (!whole && *end < total));
    let end =
        end.ok_or_else(|| wrong(format!("lists of {last} items of {item}, where {total} elements are")))?;
    Ok(first * item as u64..end)
}
