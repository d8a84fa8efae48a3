//! Writes index files.

use super::header::{LEGACY, MMID};
use crate::element;
use infeed_core::{Dtype, Error, Result};
use std::io::Write;

/// The contents of an index.
#[derive(Debug, Clone, Copy)]
pub struct Arrays<'a> {
    /// Element type of the `.bin`.
    pub dtype: Dtype,
    /// Tokens of each sequence.
    pub sizes: &'a [u32],
    /// The number of the sequence where each document begins, followed by the number of sequences. `None`:
    /// each sequence is a document.
    pub documents: Option<&'a [u64]>,
}

impl Arrays<'_> {
    fn code(&self) -> Result<u8> {
        element::code_of(self.dtype)
            .ok_or_else(|| Error::argument(format!("an index has no code for elements of {}", self.dtype)))
    }

    fn documents(&self) -> Vec<u64> {
        self.documents.map_or_else(|| (0..=self.sizes.len() as u64).collect(), <[u64]>::to_vec)
    }
}

/// Builds a `MMIDIDX` file in memory.
pub fn mmid_bytes(arrays: Arrays<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let sizes = arrays.sizes.iter().map(|size| Ok(*size));
    write_mmid(&mut out, arrays.dtype, arrays.sizes.len() as u64, || sizes.clone(), arrays.documents)?;
    Ok(out)
}

/// Writes a `MMIDIDX` file, iterating twice over the sizes so that they need not be in memory.
pub(crate) fn write_mmid<I: Iterator<Item = std::io::Result<u32>>>(
    out: &mut impl Write,
    dtype: Dtype,
    sequences: u64,
    mut sizes: impl FnMut() -> I,
    documents: Option<&[u64]>,
) -> Result<()> {
    let arrays = Arrays { dtype, sizes: &[], documents };
    let code = arrays.code()?;
    let mut all = || -> std::io::Result<()> {
        out.write_all(MMID)?;
        out.write_all(&1u64.to_le_bytes())?;
        out.write_all(&[code])?;
        out.write_all(&sequences.to_le_bytes())?;
        out.write_all(&documents.map_or(sequences + 1, |d| d.len() as u64).to_le_bytes())?;
        for size in sizes() {
            out.write_all(&size?.to_le_bytes())?;
        }
        let mut pointer = 0u64;
        for size in sizes() {
            out.write_all(&pointer.to_le_bytes())?;
            pointer += u64::from(size?) * dtype.size() as u64;
        }
        match documents {
            Some(documents) => documents.iter().try_for_each(|d| out.write_all(&d.to_le_bytes())),
            None => (0..=sequences).try_for_each(|d| out.write_all(&d.to_le_bytes())),
        }
    };
    all().map_err(|e| Error::io("write", "the index", e))
}

/// Builds a `TNTIDX` file in memory.
pub fn legacy_bytes(arrays: Arrays<'_>) -> Result<Vec<u8>> {
    let code = arrays.code()?;
    let n = arrays.sizes.len() as u64;
    let documents = arrays.documents();
    let mut out = Vec::from(LEGACY);
    let head = [1, u64::from(code), arrays.dtype.size() as u64, n, n, documents.len() as u64];
    let offsets = arrays.sizes.iter().scan(0, |sum, size| {
        *sum += u64::from(*size);
        Some(*sum)
    });
    let sizes = arrays.sizes.iter().map(|size| u64::from(*size));
    for number in head.into_iter().chain(0..=n).chain([0]).chain(offsets).chain(sizes).chain(documents) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    Ok(out)
}
