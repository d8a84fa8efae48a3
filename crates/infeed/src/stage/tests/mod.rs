//! Staging: names, copies, interruptions, several processes, and reading the copies.

mod copies;
mod interrupted;
mod laid_out;
mod reading;

use super::{Progress, Staged, Staging, pieces::PIECE, stage};
use crate::store::{MemoryStore, Stores};
use bytes::Bytes;
use infeed_core::{Error, Found, Result, Shard, Store};
use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bytes that differ from file to file and from piece to piece.
fn bytes(file: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(31) ^ (at >> 9) ^ file.wrapping_mul(101)) as u8).collect()
}

/// Files of all sizes around that of a piece, by name.
fn several() -> BTreeMap<String, Vec<u8>> {
    let piece = PIECE as usize;
    let sizes = [0, 1, 1000, piece - 1, piece, piece + 1, 3 * piece, 7 * piece + 13];
    let named = |(at, len): (usize, usize)| (format!("set/f-{at}.bin"), bytes(at as u64, len));
    sizes.into_iter().enumerate().map(named).collect()
}

/// A store that counts what is read and fails after a number of reads.
#[derive(Debug)]
struct Counting<S> {
    inner: S,
    read: AtomicU64,
    reads_left: AtomicU64,
}

impl<S: Store> Counting<S> {
    fn new(inner: S, reads: u64) -> Self {
        Counting { inner, read: AtomicU64::new(0), reads_left: AtomicU64::new(reads) }
    }
}

impl<S: Store> Store for Counting<S> {
    fn list(&self, prefix: &str) -> Result<Vec<Shard>> {
        self.inner.list(prefix)
    }

    fn stat(&self, names: &[String]) -> Result<Vec<Shard>> {
        self.inner.stat(names)
    }

    fn read(&self, shard: &Shard, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let left = self.reads_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        if left.is_err() {
            return Err(Error::io("read", &*shard.name, io::Error::other("pulled out")));
        }
        self.read.fetch_add(ranges.iter().map(|range| range.end - range.start).sum(), Relaxed);
        self.inner.read(shard, ranges)
    }

    fn find(&self, path: &str) -> Result<Vec<Found>> {
        self.inner.find(path)
    }
}

fn in_memory(files: &BTreeMap<String, Vec<u8>>) -> MemoryStore {
    files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect()
}

fn into(source: &str, folder: &Path) -> Staging {
    Staging { folder: Some(folder.to_owned()), ..Staging::new(vec![source.to_owned()]) }
}

/// Stages without looking.
fn go(store: &dyn Store, staging: &Staging) -> Result<Staged> {
    stage(store, staging, &mut |_: &Progress| true)
}

fn check(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        assert_eq!(&std::fs::read(folder.join(name)).unwrap(), bytes, "{name}");
    }
}

/// The names in a folder that begin with a dot, apart from staging's own.
fn left_over(folder: &Path) -> Vec<String> {
    let names = Stores::new().names(folder.to_str().unwrap()).unwrap().into_iter();
    let hidden = |name: &String| name.rsplit('/').next().is_some_and(|last| last.starts_with('.'));
    names.filter(|name| hidden(name) && !name.contains("/.infeed-stage.")).collect()
}
