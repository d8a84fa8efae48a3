//! Index files: the locations of sequences and documents in a `.bin`.
//!
//! ```text
//! MMIDIDX   9 bytes `MMIDIDX\0\0`, u64 version 1, u8 type, u64 N, u64 D, i32 sizes[N], i64 pointers[N] (bytes), i64 docs[D]
//! TNTIDX    8 bytes `TNTIDX\0\0`, u64 version 1, u64 type, u64 element size, u64 N, u64 S, u64 D,
//!           i64 dims[N + 1], i64 offsets[N + 1] (elements), i64 sizes[S], i64 docs[D]
//! ```
//!
//! All numbers are little-endian. Arrays follow the header without alignment. They stay in the mapped file and are
//! read element by element, so an index of a billion sequences costs no memory of its own. N extra bytes at the end
//! (the modes of a multimodal corpus, one byte per sequence) are ignored.

mod check;
mod header;
mod layout;
#[cfg(test)]
mod tests;
mod write;

use crate::{
    data::{self, Read},
    element,
};
use bytes::Bytes;
use header::Header;
use infeed_core::{Dtype, Error, Result, Store};
use layout::SequenceLayout;
use std::{ops::Range, sync::Arc};

pub use check::Surplus;
pub(crate) use header::{LEGACY, MMID};
pub(crate) use write::write_mmid;
pub use write::{Arrays, legacy_bytes, mmid_bytes};

/// What to do if an index and its `.bin` do not match.
///
/// Some tools write the end-of-document token of each document to the `.bin` but do not count it in the index: each
/// of these tokens shifts all later documents by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drift {
    /// Reject the file.
    #[default]
    Error,
    /// Count the uncounted token of each document as its last.
    Repair,
    /// Follow the index.
    Ignore,
}

/// An index that was checked against the size of its `.bin`.
#[derive(Debug)]
pub struct Index {
    held: Bytes,
    header: Header,
    layout: SequenceLayout,
    /// Number of tokens in all sequences.
    tokens: u64,
    surplus: Option<Surplus>,
}

impl Index {
    /// Opens and checks an index; `bin_len` is the size of the `.bin` beside it.
    pub fn open(store: &Arc<dyn Store>, name: &str, bin_len: u64, read: Read, drift: Drift) -> Result<Index> {
        Index::check(data::whole(store, name, read)?, name, bin_len, drift)
    }

    /// Checks an index that is in memory. `name` is for messages.
    pub fn from_bytes(bytes: Vec<u8>, name: &str, bin_len: u64, drift: Drift) -> Result<Index> {
        Index::check(bytes.into(), name, bin_len, drift)
    }

    fn check(held: Bytes, name: &str, bin_len: u64, drift: Drift) -> Result<Index> {
        let header = Header::parse(&held, name)?;
        let checked = check::check(&held, &header, name, bin_len, drift)?;
        Ok(Index { held, header, layout: checked.layout, tokens: checked.tokens, surplus: checked.surplus })
    }

    /// Returns the element type of the `.bin`.
    pub fn dtype(&self) -> Dtype {
        self.header.dtype
    }

    /// Returns whether it is a `TNTIDX` file.
    pub fn is_legacy(&self) -> bool {
        self.header.legacy
    }

    /// Returns the size of the index file in bytes.
    pub fn bytes(&self) -> u64 {
        self.held.len() as u64
    }

    /// Returns the number of sequences.
    pub fn sequences(&self) -> u64 {
        self.header.sequences as u64
    }

    /// Returns the number of documents; each consists of sequences.
    pub fn documents(&self) -> u64 {
        self.header.documents as u64 - 1
    }

    /// Returns the number of tokens in all sequences.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns what the `.bin` has beyond the index, if anything.
    pub fn surplus(&self) -> Option<&Surplus> {
        self.surplus.as_ref()
    }

    /// Returns whether uncounted tokens were included ([`Drift::Repair`]).
    pub fn is_repaired(&self) -> bool {
        matches!(self.layout, SequenceLayout::OneMoreEach | SequenceLayout::Table { repaired: true, .. })
    }

    /// Returns the number of tokens in a sequence.
    #[inline]
    pub fn size(&self, sequence: u64) -> u64 {
        let i = sequence as usize;
        match &self.layout {
            SequenceLayout::Straight => self.header.size(&self.held, i) as u64,
            SequenceLayout::OneMoreEach => self.header.size(&self.held, i) as u64 + 1,
            SequenceLayout::Table { starts, .. } => starts.lens().get(i).map_or(0, |len| u64::from(*len)),
        }
    }

    /// Returns the offset of a sequence in the `.bin`, in bytes.
    #[inline]
    pub fn byte(&self, sequence: u64) -> u64 {
        match &self.layout {
            SequenceLayout::Straight | SequenceLayout::Table { repaired: false, .. } => {
                self.header.pointer(&self.held, sequence as usize) as u64
            }
            _ => self.first_token(sequence) * self.dtype().size() as u64,
        }
    }

    /// Returns the index of a sequence's first token in the concatenation of all sequences.
    #[inline]
    pub fn first_token(&self, sequence: u64) -> u64 {
        if sequence >= self.sequences() {
            return self.tokens;
        }
        let i = sequence as usize;
        let straight = || self.header.pointer(&self.held, i) as u64 / self.dtype().size() as u64;
        match &self.layout {
            SequenceLayout::Straight => straight(),
            SequenceLayout::OneMoreEach => straight() + sequence,
            SequenceLayout::Table { starts, .. } => starts.range(i).map_or(self.tokens, |range| range.start),
        }
    }

    /// Returns whether sequences are stored in the `.bin` in order, without gaps, from its first byte on.
    pub fn is_straight(&self) -> bool {
        !matches!(self.layout, SequenceLayout::Table { repaired: false, .. })
    }

    /// Returns the sequence that contains a token of the concatenation of all sequences.
    pub fn sequence_of(&self, token: u64) -> u64 {
        let mut range = 0..self.sequences();
        while range.start < range.end {
            let middle = range.start + (range.end - range.start) / 2;
            if self.first_token(middle) <= token { range.start = middle + 1 } else { range.end = middle }
        }
        range.start.saturating_sub(1)
    }

    /// Returns the sequences of a document.
    pub fn document(&self, document: u64) -> Range<u64> {
        let at = |place: u64| self.header.document(&self.held, place as usize) as u64;
        at(document)..at(document + 1)
    }

    /// Returns the index of a document's first token in the concatenation; after the last document, the end.
    pub fn document_start(&self, document: u64) -> u64 {
        self.first_token(self.header.document(&self.held, document as usize) as u64)
    }

    /// Returns the first document that begins after this token.
    pub fn document_after(&self, token: u64) -> u64 {
        let mut range = 0..self.documents();
        while range.start < range.end {
            let middle = range.start + (range.end - range.start) / 2;
            if self.document_start(middle) <= token { range.start = middle + 1 } else { range.end = middle }
        }
        range.start
    }

    /// Returns the sizes of all sequences.
    pub fn sizes(&self) -> Vec<u32> {
        // Checked when the index was opened: no size exceeds i32.
        (0..self.sequences()).map(|i| self.size(i) as u32).collect()
    }
}

/// Returns an error about an offset in an index.
fn damaged(name: &str, offset: usize, what: impl Into<String>) -> Error {
    Error::Format { shard: name.to_owned(), offset: offset as u64, what: what.into() }
}

fn dtype_of(code: u64, name: &str, offset: usize) -> Result<Dtype> {
    element::of_code(code)
        .ok_or_else(|| damaged(name, offset, format!("element type {code}; there are 1 (u8) to 8 (u16)")))
}
