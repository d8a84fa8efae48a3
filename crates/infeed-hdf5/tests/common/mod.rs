//! What the tests share.
#![allow(dead_code, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_hdf5::{ByteSource, File, Limits, ReadError, Reader, Slab};
use std::{
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

pub(crate) const FILES: [&str; 3] = ["earliest.h5", "v110.h5", "latest.h5"];

pub(crate) fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}; golden/make.py makes it", path.display()))
}

pub(crate) fn open(data: Vec<u8>) -> infeed_hdf5::Result<File> {
    File::open(Arc::new(Bytes::from(data)), Limits::small())
}

/// All elements of a data set.
pub(crate) fn all(file: &File, reader: &Reader) -> infeed_hdf5::Result<Vec<u8>> {
    let slab = Slab::all(&reader.dataset().space.shape);
    let mut out = vec![0xa5; reader.bytes(&slab).unwrap()];
    file.read_slab(reader, &slab, &mut out)?;
    Ok(out)
}

pub(crate) fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// A source that counts.
#[derive(Debug)]
pub(crate) struct Counting(pub(crate) Bytes, pub(crate) AtomicUsize);

impl ByteSource for Counting {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read(range)
    }
}
