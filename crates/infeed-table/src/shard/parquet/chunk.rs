//! Parts of a file in memory, addressed by their offsets in the file.

use ::parquet::{
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};
use bytes::{Buf, Bytes, buf::Reader};

/// The column chunks that one read needs. Whatever a footer or page header claims, only these bytes are accessible.
#[derive(Debug)]
pub(super) struct Chunks {
    len: u64,
    parts: Vec<(u64, Bytes)>,
}

impl Chunks {
    pub(super) fn new(len: u64) -> Self {
        Chunks { len, parts: vec![] }
    }

    pub(super) fn push(&mut self, start: u64, bytes: Bytes) {
        self.parts.push((start, bytes));
    }

    /// Returns the bytes from `start` to the end of its part.
    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        for (at, bytes) in &self.parts {
            if let Some(skip) = start.checked_sub(*at)
                && skip < bytes.len() as u64
            {
                return Ok(bytes.slice(skip as usize..));
            }
        }
        Err(ParquetError::EOF(format!("byte {start} lies outside of the column")))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let rest = self.from(start)?;
        if length > rest.len() {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} do not fit the column")));
        }
        Ok(rest.slice(..length))
    }
}
