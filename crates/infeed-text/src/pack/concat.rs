//! Documents end to end, cut into rows.

use super::Packed;
use serde::{Deserialize, Serialize};

/// Where the next row begins: all that a resumed packer needs to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Number of the document that the next row begins in.
    pub document: u64,
    /// Tokens of it (with its end-of-document token) that are in rows before.
    pub offset: u64,
}

/// Lays documents end to end and cuts.
#[derive(Debug, Clone)]
pub struct Concat<T> {
    length: usize,
    eod: Option<T>,
    pad: Option<T>,
    row: Packed<T>,
    /// Where the row in the making begins.
    start: Place,
    /// Number of the next document.
    next: u64,
    /// Tokens of the next document that were in rows before the start.
    skip: u64,
}

impl<T: Copy> Concat<T> {
    /// Rows of `length` tokens. `eod` is put behind every document. The last row is filled up with `pad`, or left out
    /// without one.
    pub fn new(length: usize, eod: Option<T>, pad: Option<T>) -> Self {
        Self::resume(length, eod, pad, Place::default())
    }

    /// A packer that goes on from a place. The next document that it is given must be the one that the place names.
    pub fn resume(length: usize, eod: Option<T>, pad: Option<T>, place: Place) -> Self {
        let length = length.max(1);
        let row = Packed::new(length);
        Concat { length, eod, pad, row, start: place, next: place.document, skip: place.offset }
    }

    /// Where the next row begins.
    pub fn state(&self) -> Place {
        self.start
    }

    /// Takes a document; rows that are full go to `out`.
    pub fn push(&mut self, document: &[T], out: &mut Vec<Packed<T>>) {
        let number = self.next;
        self.next += 1;
        let total = document.len() + usize::from(self.eod.is_some());
        let mut at = usize::try_from(std::mem::take(&mut self.skip)).unwrap_or(usize::MAX).min(total);
        if self.row.tokens.is_empty() {
            self.start = Place { document: number, offset: at as u64 };
        }
        while at < total {
            let take = (total - at).min(self.length - self.row.tokens.len());
            let part = document.get(at..document.len().min(at + take)).unwrap_or_default();
            let eod = self.eod.filter(|_| at + take > document.len());
            self.row.add(number, part.iter().copied().chain(eod));
            at += take;
            if self.row.tokens.len() == self.length {
                out.push(std::mem::replace(&mut self.row, Packed::new(self.length)));
                self.start = Place { document: number, offset: at as u64 };
            }
        }
        if self.row.tokens.is_empty() {
            self.start = Place { document: self.next, offset: 0 };
        }
    }

    /// Ends the last row.
    pub fn finish(&mut self, out: &mut Vec<Packed<T>>) {
        let mut row = std::mem::replace(&mut self.row, Packed::new(self.length));
        self.start = Place { document: self.next, offset: 0 };
        if let (false, Some(pad)) = (row.tokens.is_empty(), self.pad) {
            row.pad(self.length, pad);
            out.push(row);
        }
    }
}
