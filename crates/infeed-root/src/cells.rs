//! Decoded entries of a column.

/// The entries of a column.
#[derive(Debug)]
pub(crate) enum Cells {
    /// All of the same length.
    Rows {
        /// Bytes of an entry.
        width: usize,
        /// One after the other.
        data: Vec<u8>,
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
    /// The bytes of an entry.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Cells::Rows { width, data } => data.get(row * width..(row + 1) * width),
            Cells::Ragged { ends, data } => {
                let start = if row == 0 { 0 } else { *ends.get(row - 1)? as usize };
                data.get(start..*ends.get(row)? as usize)
            }
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
