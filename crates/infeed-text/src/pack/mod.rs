//! Documents of all lengths into rows of one length.
//!
//! [`Concat`] lays documents end to end and cuts; [`Fit`] puts whole documents together so that little is left over. Both
//! are plain values: documents go in, rows come out, and where they stand is two numbers.

mod concat;
mod fit;
mod windows;

#[cfg(test)]
mod tests;

pub use concat::{Concat, Place};
pub use fit::{Fit, FitKind, Long};
pub use windows::windows;

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packed<T> {
    /// The tokens, filled up with the padding.
    pub tokens: Vec<T>,
    /// Which document of the row each token belongs to, from 1 on; 0 is padding.
    pub segments: Vec<i32>,
    /// Where each token stands in its document, as far as that lies in this row; 0 for padding.
    pub positions: Vec<i32>,
    /// Where each document begins, and where the last one ends: what attention over rows of several documents is told.
    pub cu_seqlens: Vec<i32>,
    /// The number of each document.
    pub documents: Vec<u64>,
}

impl<T: Copy> Packed<T> {
    fn new(length: usize) -> Self {
        Packed {
            tokens: Vec::with_capacity(length),
            segments: Vec::with_capacity(length),
            positions: Vec::with_capacity(length),
            cu_seqlens: vec![0],
            documents: vec![],
        }
    }

    /// Adds a document, or a part of one.
    fn add(&mut self, document: u64, tokens: impl Iterator<Item = T>) {
        self.documents.push(document);
        let before = self.tokens.len();
        self.tokens.extend(tokens);
        let len = self.tokens.len() - before;
        self.segments.extend(std::iter::repeat_n(self.documents.len() as i32, len));
        self.positions.extend(0..len as i32);
        self.cu_seqlens.push(self.tokens.len() as i32);
    }

    fn pad(&mut self, length: usize, value: T) {
        self.tokens.resize(length, value);
        self.segments.resize(length, 0);
        self.positions.resize(length, 0);
    }

    /// How many tokens are not padding.
    pub fn used(&self) -> usize {
        self.cu_seqlens.last().map_or(0, |end| *end as usize)
    }
}
