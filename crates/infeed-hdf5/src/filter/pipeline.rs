//! The list of filters of a data set, and how they are undone one after the other.

use super::{id, name, nbit, scaleoffset};
use crate::{
    cursor::Cursor,
    error::{Error, Result},
};
use infeed_codecs as codecs;

/// One filter with its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Its registered number.
    pub id: u16,
    /// Its name, as the file or the register tells it.
    pub name: String,
    /// Chunks that it could not make smaller are stored without it.
    pub optional: bool,
    /// Its settings.
    pub settings: Vec<u32>,
}

/// Filters in the order in which they were applied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pipeline {
    /// The filters.
    pub filters: Vec<Filter>,
    /// Bytes of an element.
    pub(crate) element: usize,
}

/// Memory for decoding, kept from chunk to chunk by each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    first: Vec<u8>,
    second: Vec<u8>,
    pub(crate) chunk: Vec<u8>,
    pub(crate) work: codecs::Scratch,
}

/// Filters that a chunk can have: the mask has a bit for each.
const MOST_FILTERS: u8 = 32;

impl Pipeline {
    /// Reads the message; `element` is the size of an element in bytes.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, element: usize) -> Result<Pipeline> {
        let version = cursor.version(1..=2)?;
        let count = cursor.u8()?;
        if count > MOST_FILTERS {
            return Err(cursor.wrong("more than 32 filters"));
        }
        if version == 1 {
            cursor.skip(6)?;
        }
        let mut filters = Vec::new();
        for _ in 0..count {
            let id = cursor.u16()?;
            let name_len = if version == 1 || id >= 256 { usize::from(cursor.u16()?) } else { 0 };
            let (flags, numbers) = (cursor.u16()?, cursor.u16()?);
            let start = cursor.position();
            let own = cursor.take(name_len)?;
            let end = own.iter().position(|&b| b == 0).unwrap_or(own.len());
            let own = String::from_utf8_lossy(&own[..end]).into_owned();
            if version == 1 {
                let len = cursor.position() - start;
                cursor.skip(len.next_multiple_of(8) - len)?;
            }
            let settings = (0..numbers).map(|_| cursor.u32()).collect::<Result<Vec<u32>>>()?;
            if version == 1 && numbers % 2 == 1 {
                cursor.skip(4)?;
            }
            let name = if own.is_empty() { name(id).to_owned() } else { own };
            filters.push(Filter { id, name, optional: flags & 1 != 0, settings });
        }
        Ok(Pipeline { filters, element })
    }

    /// Refuses filters that this reader does not have, by number and name.
    pub fn check(&self) -> Result<()> {
        self.filters.iter().try_for_each(|filter| match filter.id {
            id::DEFLATE | id::SHUFFLE | id::FLETCHER32 | id::NBIT | id::SCALEOFFSET | id::BZIP2 => Ok(()),
            id::LZF | id::BLOSC | id::LZ4 | id::BITSHUFFLE | id::ZSTD | id::BLOSC2 => Ok(()),
            _ => Err(filter.fails("there is no such filter here; write the data set again with another one")),
        })
    }

    /// Whether a chunk with this mask is stored as it is.
    pub(crate) fn is_plain(&self, mask: u32) -> bool {
        (0..self.filters.len()).all(|at| skipped(mask, at))
    }

    /// Undoes all filters that the mask does not skip. `out` has the size of a chunk, and is full afterwards.
    pub fn decode(&self, stored: &[u8], mask: u32, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let active: Vec<usize> = (0..self.filters.len()).filter(|&at| !skipped(mask, at)).collect();
        let Some((&last, more)) = active.split_first() else {
            if stored.len() != out.len() {
                return Err(Error::damaged(format!(
                    "a chunk of {} bytes is stored in {} without filters",
                    out.len(),
                    stored.len()
                )));
            }
            out.copy_from_slice(stored);
            return Ok(());
        };
        let Scratch { first, second, work, .. } = scratch;
        let (mut from, mut to) = (first, second);
        // The last filter of writing is the first one here. `len` is what `from` holds; before the first one, it is `stored`.
        let mut len = None;
        for &at in more.iter().rev() {
            let most = self.size_before(&active, at, out.len());
            if to.len() < most {
                to.resize(most, 0);
            }
            let input = len.map_or(stored, |len| &from[..len]);
            len = Some(self.filters[at].undo(self.element, input, &mut to[..most], work)?);
            std::mem::swap(&mut from, &mut to);
        }
        let filter = &self.filters[last];
        let made = filter.undo(self.element, len.map_or(stored, |len| &from[..len]), out, work)?;
        if made != out.len() {
            return Err(filter.fails(&format!("a chunk of {} bytes came out as {made}", out.len())));
        }
        Ok(())
    }

    /// The most bytes that can have gone into a filter: what the ones before it made of a chunk.
    fn size_before(&self, active: &[usize], at: usize, chunk: usize) -> usize {
        let before = active.iter().take_while(|&&one| one < at);
        before.fold(chunk, |size, &one| match self.filters[one].id {
            id::SHUFFLE => size,
            id::FLETCHER32 => size.saturating_add(4),
            // Compressors that were followed by another filter: nothing says how much they made of it.
            _ => size.saturating_add(size / 2).saturating_add(4096),
        })
    }
}

fn skipped(mask: u32, at: usize) -> bool {
    mask >> at.min(31) & 1 == 1
}

impl Filter {
    pub(crate) fn fails(&self, what: &str) -> Error {
        Error::Filter { id: self.id, name: self.name.clone(), what: what.to_owned() }
    }

    /// Undoes this filter and says how many bytes it gave.
    fn undo(
        &self,
        element: usize,
        input: &[u8],
        out: &mut [u8],
        work: &mut codecs::Scratch,
    ) -> Result<usize> {
        let settings = self.settings.as_slice();
        let made = match self.id {
            id::DEFLATE => codecs::zlib(input, out, work),
            id::SHUFFLE => {
                let size = settings.first().map_or(element, |&size| size as usize);
                codecs::shuffle::undo(size, input, out)
            }
            id::FLETCHER32 => codecs::fletcher32::undo(input, out),
            id::NBIT => nbit::undo(settings, input, out).map_err(codecs::Error::from),
            id::SCALEOFFSET => scaleoffset::undo(settings, input, out).map_err(codecs::Error::from),
            id::BZIP2 => codecs::bzip2(input, out),
            id::LZF => codecs::lzf::undo(input, out),
            id::BLOSC => codecs::blosc::undo(input, out, work),
            id::LZ4 => codecs::lz4_blocks(input, out),
            id::BITSHUFFLE => codecs::bitshuffle::undo(settings, input, out, work),
            id::ZSTD => codecs::zstd(input, out, work),
            id::BLOSC2 => codecs::blosc2::undo(input, out, work),
            _ => Err("there is no such filter here; write the data set again with another one".into()),
        };
        made.map_err(|what| self.fails(&what.to_string()))
    }
}
