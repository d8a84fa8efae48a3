//! The header of an index: its kind and the offsets of its arrays.

use super::{damaged, dtype_of};
use infeed_core::{Dtype, Result};

pub(crate) const MMID: &[u8; 9] = b"MMIDIDX\0\0";
pub(crate) const LEGACY: &[u8; 8] = b"TNTIDX\0\0";

/// Kind, counts and array offsets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) legacy: bool,
    pub(super) dtype: Dtype,
    pub(super) sequences: usize,
    /// Number of entries in the array of documents, one more than there are documents.
    pub(super) documents: usize,
    pub(super) sizes_at: usize,
    pub(super) pointers_at: usize,
    pub(super) documents_at: usize,
    /// Offset of the dimensions of a legacy index.
    pub(super) dims_at: usize,
}

/// Reads numbers from a header.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    name: &'a str,
}

impl Cursor<'_> {
    fn u64(&mut self, what: &str) -> Result<u64> {
        let short = || damaged(self.name, self.bytes.len(), format!("the file ends before {what}"));
        let bytes = self.bytes.get(self.at..).and_then(|b| b.first_chunk()).ok_or_else(short)?;
        self.at += 8;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn u8(&mut self, what: &str) -> Result<u8> {
        let short = || damaged(self.name, self.bytes.len(), format!("the file ends before {what}"));
        let byte = *self.bytes.get(self.at).ok_or_else(short)?;
        self.at += 1;
        Ok(byte)
    }

    fn version(&mut self) -> Result<()> {
        let at = self.at;
        match self.u64("its version")? {
            1 => Ok(()),
            other => Err(damaged(self.name, at, format!("version {other} of the index; only 1 is known"))),
        }
    }
}

impl Header {
    /// Parses the header and checks that the arrays it declares are present.
    pub(super) fn parse(bytes: &[u8], name: &str) -> Result<Header> {
        let header = if bytes.starts_with(MMID) {
            Header::mmid(Cursor { bytes, at: MMID.len(), name })
        } else if bytes.starts_with(LEGACY) {
            Header::legacy(Cursor { bytes, at: LEGACY.len(), name })
        } else {
            Err(damaged(name, 0, "it does not begin like an index (MMIDIDX or TNTIDX)"))
        }?;
        if header.documents == 0 {
            return Err(damaged(
                name,
                header.documents_at,
                "the array of documents has no entry, not even a 0",
            ));
        }
        Ok(header)
    }

    fn mmid(mut cursor: Cursor<'_>) -> Result<Header> {
        cursor.version()?;
        let at = cursor.at;
        let dtype = dtype_of(u64::from(cursor.u8("the element type")?), cursor.name, at)?;
        let sequences = cursor.u64("the number of sequences")?;
        let documents = cursor.u64("the number of documents")?;
        let start = cursor.at as u64;
        let end = (|| {
            let arrays = sequences.checked_mul(12)?.checked_add(documents.checked_mul(8)?)?;
            start.checked_add(arrays)
        })();
        let len = cursor.bytes.len() as u64;
        // May be followed by one byte per sequence: the modes of a multimodal corpus.
        let fits = end.is_some_and(|end| end == len || end.checked_add(sequences) == Some(len));
        if !fits {
            return Err(wrong_length(cursor.name, len, end, sequences, documents));
        }
        let (sequences, documents) = (sequences as usize, documents as usize);
        let sizes_at = cursor.at;
        let pointers_at = sizes_at + 4 * sequences;
        let documents_at = pointers_at + 8 * sequences;
        Ok(Header {
            legacy: false,
            dtype,
            sequences,
            documents,
            sizes_at,
            pointers_at,
            documents_at,
            dims_at: 0,
        })
    }

    fn legacy(mut cursor: Cursor<'_>) -> Result<Header> {
        cursor.version()?;
        let at = cursor.at;
        let dtype = dtype_of(cursor.u64("the element type")?, cursor.name, at)?;
        let at = cursor.at;
        let size = cursor.u64("the element size")?;
        if size != dtype.size() as u64 {
            let what = format!("elements of {size} bytes, but {dtype} has {}", dtype.size());
            return Err(damaged(cursor.name, at, what));
        }
        let sequences = cursor.u64("the number of sequences")?;
        let at = cursor.at;
        let sizes = cursor.u64("the number of sizes")?;
        let documents = cursor.u64("the number of documents")?;
        let start = cursor.at as u64;
        let end = (|| {
            let ends = sequences.checked_add(1)?.checked_mul(16)?;
            let rest = sizes.checked_add(documents)?.checked_mul(8)?;
            start.checked_add(ends)?.checked_add(rest)
        })();
        let len = cursor.bytes.len() as u64;
        if end != Some(len) {
            return Err(wrong_length(cursor.name, len, end, sequences, documents));
        }
        if sizes != sequences {
            let what =
                format!("{sizes} sizes for {sequences} sequences: arrays of tokens have one dimension");
            return Err(damaged(cursor.name, at, what));
        }
        let (sequences, documents) = (sequences as usize, documents as usize);
        let dims_at = cursor.at;
        let pointers_at = dims_at + 8 * (sequences + 1);
        let sizes_at = pointers_at + 8 * (sequences + 1);
        let documents_at = sizes_at + 8 * sequences;
        Ok(Header { legacy: true, dtype, sequences, documents, sizes_at, pointers_at, documents_at, dims_at })
    }

    /// Returns an entry of the sizes, unchecked.
    #[inline]
    pub(super) fn size(&self, bytes: &[u8], i: usize) -> i64 {
        if self.legacy {
            long(bytes, self.sizes_at + 8 * i)
        } else {
            i64::from(int(bytes, self.sizes_at + 4 * i))
        }
    }

    /// Returns the offset of a size entry.
    pub(super) fn size_at(&self, i: usize) -> usize {
        self.sizes_at + if self.legacy { 8 } else { 4 } * i
    }

    /// Returns an entry of the pointers, in bytes. Checked when the index is opened.
    #[inline]
    pub(super) fn pointer(&self, bytes: &[u8], i: usize) -> i64 {
        let entry = long(bytes, self.pointers_at + 8 * i);
        if self.legacy { entry.saturating_mul(self.dtype.size() as i64) } else { entry }
    }

    /// Returns an entry of the documents.
    #[inline]
    pub(super) fn document(&self, bytes: &[u8], i: usize) -> i64 {
        long(bytes, self.documents_at + 8 * i)
    }
}

fn wrong_length(
    name: &str,
    len: u64,
    end: Option<u64>,
    sequences: u64,
    documents: u64,
) -> infeed_core::Error {
    let needs = end.map_or("more than any file has".to_owned(), |end| format!("{end} bytes"));
    let what = format!(
        "it declares {sequences} sequences and {documents} document entries, which takes {needs}, and the file has \
         {len}: it was cut short, or is still being written"
    );
    damaged(name, len as usize, what)
}

#[inline]
fn int(bytes: &[u8], at: usize) -> i32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| i32::from_le_bytes(*b))
}

#[inline]
pub(super) fn long(bytes: &[u8], at: usize) -> i64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| i64::from_le_bytes(*b))
}
