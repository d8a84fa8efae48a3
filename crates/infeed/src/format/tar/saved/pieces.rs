//! Writes and reads long arrays a piece at a time, so that the whole file is never in memory beside its arrays.
//!
//! The checksum at the end covers the checksums of the pieces. Sections are ordered by the width of their numbers,
//! widest first, so no number crosses a piece boundary.

use crate::format::saved::file::{hash, mix};
use std::{
    fs::File,
    io::{self, Read, Write},
};

/// Bytes read and checked at a time. A multiple of every number's width, and small enough for the L2 cache.
const PIECE: usize = 256 << 10;

/// Writes sections.
pub(super) struct Writer<'a> {
    file: &'a mut File,
    piece: Vec<u8>,
    sum: u64,
}

impl<'a> Writer<'a> {
    pub(super) fn new(file: &'a mut File) -> Self {
        Writer { file, piece: Vec::with_capacity(PIECE), sum: 0 }
    }

    pub(super) fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(PIECE - self.piece.len()));
            self.piece.extend_from_slice(now);
            if self.piece.len() == PIECE {
                self.put()?;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Writes numbers as bytes.
    pub(super) fn numbers<const N: usize>(
        &mut self,
        numbers: impl IntoIterator<Item = [u8; N]>,
    ) -> io::Result<()> {
        numbers.into_iter().try_for_each(|number| self.bytes(&number))
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.put()?;
        self.file.write_all(&self.sum.to_le_bytes())
    }

    fn put(&mut self) -> io::Result<()> {
        self.sum = mix(self.sum, hash(&self.piece));
        self.file.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }
}

/// Reads sections. Nothing it returned may be trusted before [`Reader::finish`] succeeds.
pub(super) struct Reader {
    file: File,
    piece: Vec<u8>,
    /// The position in the piece.
    at: usize,
    /// Bytes of sections that are not read yet.
    left: u64,
    sum: u64,
}

impl Reader {
    pub(super) fn new(file: File) -> Option<Self> {
        let left = file.metadata().ok()?.len().checked_sub(8)?;
        Some(Reader { file, piece: Vec::new(), at: 0, left, sum: 0 })
    }

    /// Reads `count` numbers of `N` bytes.
    pub(super) fn numbers<const N: usize, T>(
        &mut self,
        count: u64,
        number: impl Fn([u8; N]) -> T,
    ) -> Option<Vec<T>> {
        // A damaged count must not cause a huge allocation.
        let len = count.checked_mul(N as u64).filter(|len| *len <= self.left + self.rest() as u64)?;
        let mut len = usize::try_from(len).ok()?;
        let mut out = Vec::with_capacity(usize::try_from(count).ok()?);
        while len > 0 {
            if self.rest() == 0 {
                self.fill()?;
            }
            let now = self.rest().min(len);
            let (whole, torn) = self.piece[self.at..self.at + now].as_chunks::<N>();
            if !torn.is_empty() {
                return None;
            }
            out.extend(whole.iter().map(|bytes| number(*bytes)));
            self.at += now;
            len -= now;
        }
        Some(out)
    }

    /// Returns `Some` if everything was read and the checksum matches.
    pub(super) fn finish(mut self) -> Option<()> {
        let mut sum = [0; 8];
        // A file without sections has an empty piece, as the writer's last one may be.
        if self.rest() > 0 || self.left > 0 {
            return None;
        }
        if self.piece.len() == PIECE || self.piece.is_empty() {
            self.sum = mix(self.sum, hash(&[]));
        }
        self.file.read_exact(&mut sum).ok()?;
        (u64::from_le_bytes(sum) == self.sum).then_some(())
    }

    fn rest(&self) -> usize {
        self.piece.len() - self.at
    }

    fn fill(&mut self) -> Option<()> {
        let len = self.left.min(PIECE as u64);
        self.piece.resize(usize::try_from(len).ok().filter(|len| *len > 0)?, 0);
        self.file.read_exact(&mut self.piece).ok()?;
        self.sum = mix(self.sum, hash(&self.piece));
        self.left -= len;
        self.at = 0;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_any_length_come_back() {
        for count in [0, 1, 2, PIECE / 8 - 1, PIECE / 8, PIECE / 8 + 1, 3 * PIECE / 8] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x");
            let mut file = File::create_new(&path).unwrap();
            let mut out = Writer::new(&mut file);
            out.numbers((0..count as u64).map(u64::to_le_bytes)).unwrap();
            out.bytes(&vec![7; count]).unwrap();
            out.finish().unwrap();
            let open = || Reader::new(File::open(&path).unwrap()).unwrap();
            let mut from = open();
            assert_eq!(from.numbers(count as u64, u64::from_le_bytes), Some((0..count as u64).collect()));
            assert_eq!(from.numbers(count as u64, |[byte]| byte), Some(vec![7; count]));
            assert_eq!(from.numbers(1, |[byte]: [u8; 1]| byte), None);
            assert_eq!(from.finish(), Some(()), "{count}");
            let mut early = open();
            early.numbers(count as u64, u64::from_le_bytes).unwrap();
            assert_eq!(early.finish().is_some(), count == 0);
            assert_eq!(open().numbers(u64::MAX, u64::from_le_bytes), None);
        }
    }
}
