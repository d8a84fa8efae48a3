//! Files of chunks: the bytes, then a foot with their checksums.
//!
//! Checksums are those of blocks of 64 KiB, so that reading one row of a chunk for the first time reads and checks its blocks
//! and not the chunk. The foot is read and checked at the first use of a file, each block at its first use.

use super::object::ChunkId;
use crc32c::{crc32c, crc32c_append};
use std::{
    fs::{File, Metadata},
    io::{self, ErrorKind, Write},
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt},
};

const MAGIC: &[u8; 8] = b"infeedC1";
/// Key, number and length of the chunk, checksum of the foot, magic.
const TAIL: usize = 16 + 4 + 8 + 4 + 8;
/// Blocks of a chunk, at most: one bit each says which were checked.
const BLOCKS: u64 = 64;

/// Bytes of a block in chunks of `chunk` bytes.
fn block_of(chunk: u64) -> u64 {
    chunk.div_ceil(BLOCKS).max(64 << 10)
}

/// Bytes of a file for a chunk of `len` bytes.
pub(super) fn file_bytes(len: u64, chunk: u64) -> u64 {
    len + len.div_ceil(block_of(chunk)) * 4 + TAIL as u64
}

/// Which file was checked, and which of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checked {
    file: (u64, i64, i64),
    blocks: u64,
}

impl Checked {
    /// A file that this process has written: nothing of it has to be checked.
    pub(super) fn all(file: &File) -> io::Result<Checked> {
        Ok(Checked { file: identity(&file.metadata()?), blocks: u64::MAX })
    }
}

fn identity(data: &Metadata) -> (u64, i64, i64) {
    (data.ino(), data.mtime(), data.mtime_nsec())
}

/// Writes a chunk into an empty file.
pub(super) fn write(file: &mut File, id: ChunkId, bytes: &[u8], chunk: u64) -> io::Result<()> {
    file.write_all(bytes)?;
    let mut foot = Vec::new();
    for block in bytes.chunks(block_of(chunk) as usize) {
        foot.extend(crc32c(block).to_le_bytes());
    }
    foot.extend(id.0.to_le_bytes());
    foot.extend(id.1.to_le_bytes());
    foot.extend((bytes.len() as u64).to_le_bytes());
    foot.extend(crc32c(&foot).to_le_bytes());
    foot.extend(MAGIC);
    file.write_all(&foot)
}

/// A chunk's file that is open for reading.
#[derive(Debug)]
pub(super) struct ChunkFile<'a> {
    file: &'a File,
    id: ChunkId,
    len: u64,
    block: u64,
    checked: Checked,
    /// Checksums of the blocks, once they are needed.
    sums: Vec<u32>,
}

/// Why a chunk cannot be used.
fn damaged(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

impl<'a> ChunkFile<'a> {
    /// Opens the file of a chunk that must have `len` bytes. `known` is what was checked before.
    pub(super) fn new(
        file: &'a File,
        id: ChunkId,
        len: u64,
        chunk: u64,
        known: Option<Checked>,
    ) -> io::Result<ChunkFile<'a>> {
        ChunkFile::with(file, &file.metadata()?, id, len, chunk, known)
    }

    /// Like [`ChunkFile::new`], for a file of which something is known already.
    pub(super) fn with(
        file: &'a File,
        data: &Metadata,
        id: ChunkId,
        len: u64,
        chunk: u64,
        known: Option<Checked>,
    ) -> io::Result<ChunkFile<'a>> {
        if data.len() != file_bytes(len, chunk) {
            return Err(damaged("it has another length"));
        }
        let file_id = identity(data);
        let known = known.filter(|known| known.file == file_id);
        let mut opened = ChunkFile {
            file,
            id,
            len,
            block: block_of(chunk),
            checked: known.unwrap_or(Checked { file: file_id, blocks: 0 }),
            sums: Vec::new(),
        };
        if known.is_none() {
            opened.load_sums()?;
        }
        Ok(opened)
    }

    /// What was checked so far.
    pub(super) fn checked(&self) -> Checked {
        self.checked
    }

    fn load_sums(&mut self) -> io::Result<()> {
        let blocks = self.len.div_ceil(self.block) as usize;
        let mut foot = vec![0; blocks * 4 + TAIL];
        self.read_at(&mut foot, self.len)?;
        let (body, end) = foot.split_at(foot.len() - 12);
        let mut own = self.id.0.to_le_bytes().to_vec();
        own.extend(self.id.1.to_le_bytes());
        own.extend(self.len.to_le_bytes());
        if end[4..] != *MAGIC || end[..4] != crc32c(body).to_le_bytes() {
            return Err(damaged("its checksums are damaged"));
        }
        if body[blocks * 4..] != own {
            return Err(damaged("it is the file of another chunk"));
        }
        self.sums =
            body[..blocks * 4].as_chunks::<4>().0.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
        Ok(())
    }

    /// Reads bytes of the chunk, `range` counted from its start.
    pub(super) fn read(&mut self, range: Range<u64>, out: &mut [u8]) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let blocks = range.start / self.block..range.end.div_ceil(self.block);
        let fresh = |block: &u64| self.checked.blocks & (1 << block) == 0;
        if !blocks.clone().any(|block| fresh(&block)) {
            return self.read_at(out, range.start);
        }
        if self.sums.is_empty() {
            self.load_sums()?;
        }
        self.read_at(out, range.start)?;
        let mut spare = Vec::new();
        for block in blocks {
            let whole = block * self.block..self.len.min((block + 1) * self.block);
            // Bytes of the block before, in and behind what was read.
            let inside = whole.start.max(range.start)..whole.end.min(range.end);
            let mut sum = 0;
            for part in [whole.start..inside.start, inside.clone(), inside.end..whole.end] {
                if part == inside {
                    let at = (part.start - range.start) as usize;
                    sum = crc32c_append(sum, &out[at..at + (part.end - part.start) as usize]);
                } else if !part.is_empty() {
                    spare.resize((part.end - part.start) as usize, 0);
                    self.read_at(&mut spare, part.start)?;
                    sum = crc32c_append(sum, &spare);
                }
            }
            if self.sums.get(block as usize) != Some(&sum) {
                return Err(damaged("its bytes do not have their checksum"));
            }
            self.checked.blocks |= 1 << block;
        }
        Ok(())
    }

    /// Checks all blocks.
    pub(super) fn verify(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; self.block.min(self.len) as usize];
        self.checked.blocks = 0;
        for start in (0..self.len).step_by(self.block as usize) {
            let end = self.len.min(start + self.block);
            self.read(start..end, &mut bytes[..(end - start) as usize])?;
        }
        Ok(())
    }

    fn read_at(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(out, at).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => damaged("it was cut short"),
            _ => e,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: ChunkId = (77, 3);
    const CHUNK: u64 = 300_000;

    fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write(file.as_file_mut(), ID, bytes, CHUNK).unwrap();
        assert_eq!(file.as_file().metadata().unwrap().len(), file_bytes(bytes.len() as u64, CHUNK));
        file
    }

    fn open(file: &tempfile::NamedTempFile, id: ChunkId, len: usize) -> io::Result<ChunkFile<'_>> {
        ChunkFile::new(file.as_file(), id, len as u64, CHUNK, None)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn damage_is_found_where_it_is_read(
            len in 1usize..300_000,
            ends in (0.0f64..1.0, 0.0f64..1.0),
            place in 0.0f64..1.0,
        ) {
            let bytes: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            let file = written(&bytes);
            let cut = |share: f64| (share * (len + 1) as f64) as u64;
            let range = cut(ends.0.min(ends.1))..cut(ends.0.max(ends.1));
            let mut out = vec![0; (range.end - range.start) as usize];
            let mut chunk = open(&file, ID, len).unwrap();
            chunk.read(range.clone(), &mut out).unwrap();
            prop_assert_eq!(&out, &bytes[range.start as usize..range.end as usize]);
            chunk.verify().unwrap();
            // One byte of the file is another.
            let total = file.as_file().metadata().unwrap().len();
            let at = (place * total as f64) as u64;
            let mut byte = [0];
            file.as_file().read_exact_at(&mut byte, at).unwrap();
            file.as_file().write_all_at(&[byte[0] ^ 4], at).unwrap();
            let found = open(&file, ID, len).and_then(|mut chunk| chunk.verify());
            prop_assert_eq!(found.unwrap_err().kind(), ErrorKind::InvalidData);
            if let Ok(mut chunk) = open(&file, ID, len) && chunk.read(range.clone(), &mut out).is_ok() {
                prop_assert_eq!(&out, &bytes[range.start as usize..range.end as usize]);
            }
        }
    }

    #[test]
    fn files_of_other_chunks_are_not_taken() {
        let file = written(b"hello");
        open(&file, ID, 5).unwrap().verify().unwrap();
        for (id, len) in [((77, 4), 5), ((78, 3), 5), (ID, 6)] {
            assert_eq!(open(&file, id, len).unwrap_err().kind(), ErrorKind::InvalidData);
        }
        file.as_file().set_len(20).unwrap();
        assert_eq!(open(&file, ID, 5).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn what_was_checked_is_not_checked_again() {
        let file = written(&[7; 200_000]);
        let mut chunk = open(&file, ID, 200_000).unwrap();
        chunk.read(0..10, &mut [0; 10]).unwrap();
        let known = chunk.checked();
        assert_eq!(known.blocks, 1);
        let again = ChunkFile::new(file.as_file(), ID, 200_000, CHUNK, Some(known)).unwrap();
        assert_eq!((again.checked(), again.sums.len()), (known, 0));
        let other = written(&[7; 200_000]);
        let fresh = ChunkFile::new(other.as_file(), ID, 200_000, CHUNK, Some(known)).unwrap();
        assert_eq!(fresh.checked().blocks, 0);
    }
}
