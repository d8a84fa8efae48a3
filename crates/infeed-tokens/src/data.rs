//! Bytes of a file, mapped or read when they are needed.

use crate::sys;
use infeed_core::{Error, Result};
use memmap2::Mmap;
use std::{fs::File, ops::Deref, os::unix::fs::FileExt};

/// How tokens get from the file into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Read {
    /// The file is mapped: nothing is copied but what a row needs. The process ends (SIGBUS) when somebody cuts the file
    /// short meanwhile.
    #[default]
    Map,
    /// Each row is read by a call. Slower, and a file that became shorter is an error like any other.
    Pread,
}

/// A file's bytes as a slice: mapped, or held in memory.
#[derive(Debug)]
pub(crate) enum Held {
    Mapped(Mmap),
    Memory(Vec<u8>),
}

impl Held {
    /// The whole file.
    pub(crate) fn open(path: &str, read: Read) -> Result<Held> {
        match read {
            Read::Map => {
                let (file, len) = open(path)?;
                if len == 0 {
                    return Ok(Held::Memory(Vec::new()));
                }
                sys::map(&file).map(Held::Mapped).map_err(|e| Error::io("map", path, e))
            }
            Read::Pread => std::fs::read(path).map(Held::Memory).map_err(|e| Error::io("read", path, e)),
        }
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Held::Mapped(map) => map,
            Held::Memory(bytes) => bytes,
        }
    }
}

/// A file of tokens.
#[derive(Debug)]
pub(crate) enum Data {
    Held(Held),
    File { file: File, len: u64, path: String },
}

impl Data {
    pub(crate) fn open(path: &str, read: Read) -> Result<Data> {
        match read {
            Read::Map => Ok(Data::Held(Held::open(path, read)?)),
            Read::Pread => {
                let (file, len) = open(path)?;
                Ok(Data::File { file, len, path: path.to_owned() })
            }
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Data::Held(held) => held.len() as u64,
            Data::File { len, .. } => *len,
        }
    }

    /// Says that the file will be gone through from front to back.
    pub(crate) fn expect_sequential(&self) {
        if let Data::Held(Held::Mapped(map)) = self {
            sys::expect_sequential(map);
        }
    }

    /// The bytes at a place; `scratch` holds them where they are not in memory already.
    #[inline]
    pub(crate) fn get<'a>(&'a self, at: u64, len: usize, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match self {
            Data::Held(held) => usize::try_from(at)
                .ok()
                .and_then(|at| held.get(at..at.checked_add(len)?))
                .ok_or_else(|| Error::Internal { what: format!("{len} bytes at {at} of a token file") }),
            Data::File { file, path, .. } => {
                scratch.resize(len, 0);
                file.read_exact_at(scratch, at).map_err(|e| Error::io("read", path, e))?;
                Ok(scratch)
            }
        }
    }

    /// The bytes at a place if they are in memory already.
    #[inline]
    pub(crate) fn peek(&self, at: u64, len: usize) -> &[u8] {
        match self {
            Data::Held(held) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                held.get(at..at.saturating_add(len)).unwrap_or_default()
            }
            Data::File { .. } => &[],
        }
    }
}

fn open(path: &str) -> Result<(File, u64)> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    let about = file.metadata().map_err(|e| Error::io("look at", path, e))?;
    if about.is_dir() {
        return Err(Error::argument(format!("`{path}` is a folder, not a file of tokens")));
    }
    Ok((file, about.len()))
}
