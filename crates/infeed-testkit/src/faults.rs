//! Damages files as disks, networks and interrupted copies do.

use infeed_core::{Error, Result};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
};

/// Truncates a file to `len` bytes: an interrupted copy.
pub fn truncate(path: impl AsRef<Path>, len: u64) -> Result<()> {
    let path = path.as_ref();
    open(path)?.set_len(len).map_err(|e| failed("truncate", path, e))
}

/// Flips one bit (0 to 7) of one byte: a bad cable or memory cell.
pub fn flip(path: impl AsRef<Path>, at: u64, bit: u8) -> Result<()> {
    let path = path.as_ref();
    let mut file = open(path)?;
    let mut byte = [0];
    let mut change = || {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut byte)?;
        byte[0] ^= 1u8.wrapping_shl(bit.into());
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&byte)
    };
    change().map_err(|e| failed("damage", path, e))
}

/// Overwrites bytes at an offset.
pub fn overwrite(path: impl AsRef<Path>, at: u64, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let mut file = open(path)?;
    file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes)).map_err(|e| failed("damage", path, e))
}

/// Fills a range with zeros: a hole that a crash leaves in a file whose size was already set.
pub fn zero(path: impl AsRef<Path>, range: Range<u64>) -> Result<()> {
    let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
    overwrite(path, range.start, &vec![0; len])
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).write(true).open(path).map_err(|e| failed("open", path, e))
}

fn failed(doing: &'static str, path: &Path, cause: std::io::Error) -> Error {
    Error::io(doing, path.to_string_lossy(), cause)
}
