//! The pieces of a file that are done: a record of number and checksum for each.

use super::{names::Item, sys};
use infeed_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    ops::Range,
    os::unix::fs::FileExt,
    path::Path,
};

/// Bytes that are read from the source at a time.
#[cfg(not(test))]
pub(super) const PIECE: u64 = 8 << 20;
/// Small, so that tests have files of many pieces.
#[cfg(test)]
pub(super) const PIECE: u64 = 16 << 10;
/// Bytes of a record: number, checksum of the piece, checksum of these two.
const RECORD: usize = 12;
/// The longest first line.
const LONGEST: u64 = 1 << 20;

/// The first line: what the pieces are of.
#[derive(PartialEq, Serialize, Deserialize)]
struct Head {
    source: String,
    size: u64,
    modified: Option<u64>,
    version: Option<u64>,
    piece: u64,
}

/// The records of a file, open for more.
#[derive(Debug)]
pub(super) struct Records(File);

impl Records {
    /// Opens the records of a file. Returns the checksums of the pieces that are done, or `None` if there are no records of
    /// the source as it is now.
    pub(super) fn open(
        path: &Path,
        item: &Item,
        pieces: usize,
    ) -> io::Result<(Self, Option<Vec<Option<u32>>>)> {
        let (source, shard) = (item.source.clone(), &item.shard);
        let (size, modified, version) = (shard.size, shard.modified, shard.version);
        let head = Head { source, size, modified, version, piece: PIECE };
        let file = File::options().read(true).append(true).create(true).open(path)?;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        let fits =
            line.ends_with(b"\n") && serde_json::from_slice::<Head>(&line).is_ok_and(|old| old == head);
        if !fits {
            if !line.is_empty() {
                file.set_len(0)?;
            }
            (&file).write_all(format!("{}\n", serde_json::to_string(&head)?).as_bytes())?;
            return Ok((Records(file), None));
        }
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest)?;
        let mut known = vec![None; pieces];
        let mut whole = line.len();
        for (piece, sum) in rest.chunks_exact(RECORD).map_while(|record| read_record(record, pieces)) {
            known[piece] = Some(sum);
            whole += RECORD;
        }
        // What follows the last whole record is one that its process was killed in.
        file.set_len(whole as u64)?;
        Ok((Records(file), Some(known)))
    }

    /// Adds a piece that was written.
    pub(super) fn add(&self, piece: usize, sum: u32) -> io::Result<()> {
        (&self.0).write_all(&record(piece, sum))
    }
}

/// The number of pieces of a file.
pub(super) fn count(size: u64) -> Result<usize> {
    u32::try_from(size.div_ceil(PIECE))
        .map(|pieces| pieces as usize)
        .map_err(|_| Error::argument(format!("a file of {size} bytes is too large to be staged")))
}

fn record(piece: usize, sum: u32) -> [u8; RECORD] {
    let mut out = [0; RECORD];
    out[..4].copy_from_slice(&(piece as u32).to_le_bytes());
    out[4..8].copy_from_slice(&sum.to_le_bytes());
    let check = crc32c::crc32c(&out[..8]);
    out[8..].copy_from_slice(&check.to_le_bytes());
    out
}

fn read_record(record: &[u8], pieces: usize) -> Option<(usize, u32)> {
    let number = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let (piece, sum) = (number(0)? as usize, number(4)?);
    (piece < pieces && number(8)? == crc32c::crc32c(&record[..8])).then_some((piece, sum))
}

/// The checksum of a range of a file.
pub(super) fn sum_at(file: &File, range: &Range<u64>) -> io::Result<u32> {
    let mut buffer = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
    file.read_exact_at(&mut buffer, range.start)?;
    Ok(crc32c::crc32c(&buffer))
}

/// The checksum of a whole file of this size, read from its device.
pub(super) fn sum_of_file(path: &Path, size: u64) -> io::Result<u32> {
    let file = File::open(path)?;
    sys::forget(&file);
    let mut whole = 0;
    for start in (0..size).step_by(PIECE as usize) {
        let range = start..size.min(start + PIECE);
        whole = crc32c::crc32c_combine(whole, sum_at(&file, &range)?, (range.end - range.start) as usize);
    }
    Ok(whole)
}
