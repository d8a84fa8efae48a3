//! Decoded entries of a column.

use crate::error::{Error, Result};
use infeed_codecs::Scratch;
use infeed_core::{Dtype, blocks::Spares, memory};

/// Bytes that one column of a block may have.
const LARGEST_CELLS: usize = 1 << 31;
/// Memory is taken at once if it is at most so many times what was read; more is taken as pieces give it.
const PLAUSIBLE: usize = 64;

/// Memory that is used again.
pub(crate) struct Memory<'a> {
    /// For cells.
    pub(crate) spares: &'a Spares,
    pub(crate) work: &'a mut Work,
}

/// What a thread keeps for unpacking.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) codecs: Scratch,
    /// What was unpacked.
    pub(crate) out: Vec<u8>,
    /// Elements on their way.
    pub(crate) more: Vec<u8>,
}

/// The entries of a column.
#[derive(Debug)]
pub(crate) enum Cells {
    /// All of the same length.
    Rows {
        /// Bytes of an entry.
        width: usize,
        /// One after the other.
        data: Vec<u8>,
        /// The type of elements that still have the byte order of the file.
        unturned: Option<Dtype>,
    },
    /// Of different lengths.
    Ragged {
        /// Where each ends.
        ends: Vec<u32>,
        /// One after the other.
        data: Vec<u8>,
    },
}

impl Cells {
    /// The bytes of an entry, of which [`Cells::unturned`] tells the order.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Cells::Rows { width, data, .. } => data.get(row * width..(row + 1) * width),
            Cells::Ragged { ends, data } => {
                let start = if row == 0 { 0 } else { *ends.get(row - 1)? as usize };
                data.get(start..*ends.get(row)? as usize)
            }
        }
    }

    /// The type of elements that still have the byte order of the file.
    pub(crate) fn unturned(&self) -> Option<Dtype> {
        match self {
            Cells::Rows { unturned, .. } => *unturned,
            Cells::Ragged { .. } => None,
        }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Cells::Rows { data, .. } => data.capacity() as u64,
            Cells::Ragged { ends, data } => (data.capacity() + 4 * ends.capacity()) as u64,
        }
    }

    /// The largest buffer, to be used again.
    pub(crate) fn buffer(self) -> Vec<u8> {
        match self {
            Cells::Rows { data, .. } | Cells::Ragged { data, .. } => data,
        }
    }
}

/// Cells in the making.
pub(crate) struct Building<'a> {
    /// The name of the column.
    name: &'a str,
    data: Vec<u8>,
    /// Bytes of it that were written.
    used: usize,
    ends: Vec<u32>,
}

impl<'a> Building<'a> {
    /// Entries of different lengths.
    pub(crate) fn ragged(name: &'a str) -> Self {
        Building { name, data: Vec::new(), used: 0, ends: Vec::new() }
    }

    /// `count` entries of `width` bytes, for which `read` bytes were read.
    pub(crate) fn rows(
        name: &'a str,
        (count, width): (usize, usize),
        read: usize,
        spares: &Spares,
    ) -> Result<Self> {
        let mut made = Building::ragged(name);
        let all = count.checked_mul(width).filter(|all| *all <= LARGEST_CELLS);
        let all = all.ok_or_else(|| made.too_large())?;
        if all / PLAUSIBLE <= read + 1024 {
            made.data = spares.take(all)?;
        }
        Ok(made)
    }

    fn too_large(&self) -> Error {
        Error::Unsupported(format!(
            "entries of `{}` that lie together take more than 2 GiB; write smaller baskets",
            self.name
        ))
    }

    /// Bytes that were written.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Whether there is memory for so many more bytes.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.data.len() - self.used
    }

    /// The next bytes to write.
    pub(crate) fn room(&mut self, bytes: usize) -> Result<&mut [u8]> {
        let (begin, end) = (self.used, self.used.saturating_add(bytes));
        if end > LARGEST_CELLS {
            return Err(self.too_large());
        }
        if end > self.data.len() {
            memory::resize(&mut self.data, end)?;
        }
        self.used = end;
        Ok(&mut self.data[begin..end])
    }

    /// So many entries will end.
    pub(crate) fn expect(&mut self, entries: usize) -> Result<()> {
        Ok(memory::reserve(&mut self.ends, entries)?)
    }

    /// An entry ends there.
    pub(crate) fn end(&mut self, end: usize) -> Result<()> {
        match u32::try_from(end) {
            Ok(small) if end <= LARGEST_CELLS => self.ends.push(small),
            _ => return Err(self.too_large()),
        }
        Ok(())
    }

    fn lost(&self) -> Error {
        Error::damaged(0, format!("`{}` has fewer entries than there should be", self.name))
    }

    /// Entries of `width` bytes.
    pub(crate) fn finish_rows(
        self,
        (count, width): (usize, usize),
        unturned: Option<Dtype>,
    ) -> Result<Cells> {
        if count.checked_mul(width) != Some(self.used) || self.data.len() != self.used {
            return Err(self.lost());
        }
        Ok(Cells::Rows { width, data: self.data, unturned })
    }

    /// Entries of different lengths.
    pub(crate) fn finish_ragged(mut self, count: usize) -> Result<Cells> {
        if self.ends.len() != count {
            return Err(self.lost());
        }
        self.data.truncate(self.used);
        Ok(Cells::Ragged { ends: self.ends, data: self.data })
    }
}
